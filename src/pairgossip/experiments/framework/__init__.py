"""What every experiment is made of: cases, results on disk, sections of the report."""
