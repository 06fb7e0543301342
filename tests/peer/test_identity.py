from __future__ import annotations

import base64
import datetime
import hashlib
import os
import random
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import (
    expiry,
    id_of_certificate,
    is_early,
    is_expired,
    is_id,
    is_name,
    is_signed,
    name_in_certificate,
    sealing_key_of,
    start,
)
from pairgossip.peer.identity.identity import create_identity, load_identity

from .zenoh_people import Person


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_an_identity_is_the_hash_of_its_key(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "clinic-a")
    certificate = x509.load_pem_x509_certificate(identity.certificate.encode())
    key = certificate.public_key()
    assert isinstance(key, Ed25519PublicKey)
    spelled = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert identity.id == hashlib.sha256(spelled).hexdigest()
    assert id_of_certificate(identity.certificate) == identity.id
    assert is_id(identity.id)
    assert identity.name == "clinic-a"


def test_the_certificate_tells_the_id_and_the_name(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "clinic-a")
    certificate = x509.load_pem_x509_certificate(identity.certificate.encode())
    (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert name.value == identity.id
    assert certificate.issuer == certificate.subject
    certificate.verify_directly_issued_by(certificate)
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert not constraints.value.ca
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == ["clinic-a"]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    assert {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH} == set(usage.value)


def test_a_certificate_is_valid_for_so_many_years(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "a", years=2)
    assert not is_expired(identity.certificate) and not is_early(identity.certificate)
    now = datetime.datetime.now(datetime.UTC)
    assert (now - start(identity.certificate)).days == 1
    assert 729 <= (expiry(identity.certificate) - now).days <= 731


def test_a_certificate_expires(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "a", years=0)
    assert is_expired(identity.certificate) and not is_early(identity.certificate)


def test_a_signature_is_by_this_key_for_this_text(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "a")
    (tmp_path / "b").mkdir()
    other = create_identity(tmp_path / "b", "b")
    signature = identity.sign(b"text")
    assert is_signed(identity.certificate, b"text", signature)
    assert not is_signed(identity.certificate, b"texts", signature)
    assert not is_signed(other.certificate, b"text", signature)
    assert not is_signed(identity.certificate, b"text", signature[:-1])
    assert not is_signed(identity.certificate, b"text", b"")
    assert identity.sign(b"text") == signature  # it needs no random numbers


def test_nothing_comes_along_with_a_certificate(tmp_path: Path) -> None:
    """TLS would trust a second one, and a broken one would prevent the network from opening."""
    one, other = (Person(tmp_path, name).certificate for name in "ab")
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert id_of_certificate(f"\n{one}\n") == id_of_certificate(one)
    for text in (
        one + other,
        one + broken,
        broken + one,
        "a note\n" + one,
        one.replace("\n", "\n "),
    ):
        with pytest.raises(InputError, match=r"has other text|cannot be read"):
            id_of_certificate(text)


def test_the_key_is_for_its_owner_only_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        create_identity(tmp_path, "a")
    finally:
        os.umask(before)
    assert mode(tmp_path / "key.pem") == 0o600


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    create_identity(tmp_path, "a")
    content = (tmp_path / "key.pem").read_bytes()
    with pytest.raises(InputError, match=r"key\.pem exists already: choose another folder\."):
        create_identity(tmp_path, "a")
    assert (tmp_path / "key.pem").read_bytes() == content


def test_a_failure_leaves_no_key_behind(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("occupied")
    with pytest.raises(InputError, match=r"cert\.pem exists already"):
        create_identity(tmp_path, "a")
    assert not (tmp_path / "key.pem").exists()


@pytest.mark.parametrize("loose", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, loose: int) -> None:
    create_identity(tmp_path, "a")
    (tmp_path / "key.pem").chmod(loose)
    with pytest.raises(InputError, match=r"Others can read the key .*: run chmod 600 .*key\.pem"):
        load_identity(tmp_path)


def test_a_key_that_is_a_link_is_not_to_be_changed(tmp_path: Path) -> None:
    create_identity(tmp_path, "a")
    key = tmp_path / "key.pem"
    key.rename(tmp_path / "shadow").chmod(0o640)
    key.symlink_to(tmp_path / "shadow")
    with pytest.raises(InputError, match=r"The key .*key\.pem is a link to .*shadow") as refused:
        load_identity(tmp_path)
    assert "chmod" not in str(refused.value)


def test_what_is_missing_or_foreign_is_named(tmp_path: Path) -> None:
    create_identity(tmp_path, "a")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    (tmp_path / "b").mkdir()
    other = create_identity(tmp_path / "b", "b")
    kept = certificate.read_text()
    certificate.write_text(other.certificate)
    with pytest.raises(InputError, match=r"cert\.pem does not belong to the key beside it"):
        load_identity(tmp_path)
    certificate.write_text("nothing")
    with pytest.raises(InputError, match=r"cert\.pem: The certificate cannot be read"):
        load_identity(tmp_path)
    certificate.unlink()
    with pytest.raises(InputError, match=r"cert\.pem is missing in .*: restore it"):
        load_identity(tmp_path)
    certificate.write_text(kept)
    key.write_text("nothing")
    with pytest.raises(InputError, match=r"key\.pem is not an Ed25519 key: restore"):
        load_identity(tmp_path)
    key.unlink()
    with pytest.raises(InputError, match=r"key\.pem is missing in .*: restore it"):
        load_identity(tmp_path)


def test_a_key_of_another_type_is_refused(tmp_path: Path) -> None:
    create_identity(tmp_path, "a")
    curve = ec.generate_private_key(ec.SECP256R1())
    pem = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    with pytest.raises(InputError, match="is not an Ed25519 key"):
        load_identity(tmp_path)


def forged(common_name: str | None, ca: bool = False, curve: bool = False) -> str:
    key = Ed25519PrivateKey.generate()
    signer = ec.generate_private_key(ec.SECP256R1()) if curve else key
    spelled = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    told = hashlib.sha256(spelled).hexdigest() if common_name is None else common_name
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, told)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(signer.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    return builder.sign(signer, SHA256() if curve else None).public_bytes(Encoding.PEM).decode()


def test_certificates_that_are_no_peers_are_refused() -> None:
    assert is_id(id_of_certificate(forged(None)))
    with pytest.raises(InputError, match="common name is not the id of its key"):
        id_of_certificate(forged("a" * 64))
    with pytest.raises(InputError, match="is one of an authority, not of a peer"):
        id_of_certificate(forged(None, ca=True))
    with pytest.raises(InputError, match="not of the Ed25519 type"):
        id_of_certificate(forged(None, curve=True))
    with pytest.raises(InputError, match="too long"):
        id_of_certificate("x" * 5000)


def test_no_damage_to_a_certificate_goes_beyond_one_sentence(tmp_path: Path) -> None:
    pem = create_identity(tmp_path, "a").certificate
    der = base64.b64decode("".join(pem.splitlines()[1:-1]))
    chance = random.Random(2)
    refused = 0
    for place in range(len(der)):
        changed = bytearray(der)
        changed[place] ^= 1 << chance.randrange(8)
        body = base64.encodebytes(bytes(changed)).decode()
        damaged = f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"
        try:
            id_of_certificate(damaged)
            expiry(damaged)
            name_in_certificate(damaged)
        except InputError:
            refused += 1
    assert refused > 100


def test_a_certificate_signed_by_another_key_is_refused(tmp_path: Path) -> None:
    """A neighbor could make one with a peer's id, and a sealing key of its own choice."""
    issuer = Person(tmp_path, "issuer")
    forged = Person(tmp_path, "forged", issuer=issuer)
    with pytest.raises(InputError, match="is not signed by its own key"):
        id_of_certificate(forged.certificate)


def test_the_certificate_tells_the_key_to_seal_to(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "a")
    other = Person(tmp_path, "b")
    secret = identity.agree(sealing_key_of(other.certificate))
    assert secret == other.agree(sealing_key_of(identity.certificate))
    with pytest.raises(InputError, match="has no key to seal frames to: make it again"):
        sealing_key_of(forged(None))


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31), b"short", bytes(33)])
def test_a_key_that_no_secret_can_be_shared_with_is_none(tmp_path: Path, point: bytes) -> None:
    weak = Person(tmp_path, "weak", sealing_key=point)
    assert id_of_certificate(weak.certificate) == weak.id
    with pytest.raises(InputError, match="has no key to seal frames to"):
        sealing_key_of(weak.certificate)


def test_a_sealing_key_of_another_is_refused_at_the_start(tmp_path: Path) -> None:
    weak = Person(tmp_path, "mixed", sealing_key=sealing_key_of(Person(tmp_path, "b").certificate))
    (tmp_path / "key.pem").write_bytes(weak.key_file.read_bytes())
    (tmp_path / "key.pem").chmod(0o600)
    (tmp_path / "cert.pem").write_text(weak.certificate)
    with pytest.raises(InputError, match=r"cert\.pem does not belong to the key beside it"):
        load_identity(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "x" * 33, "é", "a\n", "a\x00"])
def test_what_is_no_name(name: str, tmp_path: Path) -> None:
    assert not is_name(name)
    with pytest.raises(InputError, match="is not a name for a peer: use 1 to 32 letters"):
        create_identity(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_an_identity_does_not_show_more_than_its_name(tmp_path: Path) -> None:
    identity = create_identity(tmp_path, "a")
    assert repr(identity) == f"Identity(a, {identity.id[:12]})"
