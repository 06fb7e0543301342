"""Tests of the versions of the list of members."""

import secrets
import tracemalloc

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    AnyRecord,
    Assent,
    Card,
    Leave,
    MemberList,
    Never,
    encode,
    payload_of,
)
from pairgossip.study.protocol.spreading import Give, encode_frame
from tests.study.fakes import Node, accept_each_other, exchange, found, keys_of


def ids_of(nodes: list[Node]) -> set[tuple[str, ...]]:
    return {node.ids for node in nodes}


def join(nodes: list[Node], count: int = 1) -> list[Node]:
    """Let all accept newcomers, and one propose the list with them."""
    everybody = [*nodes, *(Node(len(nodes) + k) for k in range(count))]
    accept_each_other(everybody)
    nodes[1].do(nodes[1].study.propose())
    return everybody


def test_members_who_accept_each_other_come_to_one_list() -> None:
    nodes = found(5)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}
    assert {node.study.name for node in nodes} == {nodes[0].study.members.digest}  # type: ignore[union-attr]


def test_a_list_that_one_has_not_signed_does_not_exist() -> None:
    nodes = [Node(number) for number in range(4)]
    accept_each_other(nodes)
    for node in nodes[:3]:
        node.do(node.study.propose())
    exchange(nodes[:3])
    assert ids_of(nodes) == {()}
    assert len(nodes[0].study.proposals) == 1
    exchange(nodes)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}


def test_nobody_is_on_a_list_whom_an_operator_has_not_accepted() -> None:
    nodes = found(4)
    new = Node(4)
    for node in nodes[:3]:
        node.do(node.study.accept_card(new.card))
    for node in nodes:
        new.do(new.study.accept_card(node.card))
    nodes[0].do(nodes[0].study.propose())
    exchange([*nodes, new])
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}
    nodes[3].do(nodes[3].study.accept_card(new.card))
    exchange([*nodes, new])
    assert ids_of([*nodes, new]) == {tuple(node.id for node in [*nodes, new])}


def test_a_newcomer_that_never_signs_blocks_nobody() -> None:
    nodes = found(4)
    silent = join(nodes)[-1]
    exchange(nodes)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}
    for node in nodes:
        node.do(node.study.evict(silent.id))
    exchange(nodes)
    other = Node(7)
    accept_each_other([*nodes, other])
    nodes[2].do(nodes[2].study.propose())
    exchange([*nodes, other])
    assert ids_of([*nodes, other]) == {("m00", "m01", "m02", "m03", "m07")}


def test_a_newcomer_that_one_has_not_accepted_is_evicted_by_all() -> None:
    nodes = found(4)
    silent, other = Node(4), Node(7)
    for node in nodes[:3]:
        node.do(node.study.accept_card(silent.card))
    nodes[0].do(nodes[0].study.propose())
    exchange(nodes)
    for node in nodes:
        node.do(node.study.evict(silent.id))
    exchange(nodes)
    accept_each_other([*nodes, other])
    nodes[0].do(nodes[0].study.propose())
    exchange([*nodes, other])
    assert ids_of([*nodes, other]) == {("m00", "m01", "m02", "m03", "m07")}


def test_two_that_are_proposed_at_once_both_join() -> None:
    nodes = found(4)
    new = [Node(4), Node(5)]
    for node, one in ((nodes[0], new[0]), (nodes[1], new[1])):
        node.do(node.study.accept_card(one.card))
        node.do(node.study.propose())
    exchange(nodes)
    everybody = [*nodes, *new]
    accept_each_other(everybody)
    for _ in range(3):
        exchange(everybody, contacts=2)
        nodes[2].do(nodes[2].study.propose())
    exchange(everybody)
    assert ids_of(everybody) == {tuple(node.id for node in everybody)}


def test_one_leaves_and_comes_back_only_if_it_is_accepted_anew() -> None:
    nodes = found(5)
    nodes[0].do(nodes[0].study.leave())
    exchange(nodes)
    assert ids_of(nodes[1:]) == {("m01", "m02", "m03", "m04")}
    nodes[2].do(nodes[2].study.propose())
    exchange(nodes)
    assert ids_of(nodes[1:]) == {("m01", "m02", "m03", "m04")}


def test_who_has_left_does_not_ask_again() -> None:
    nodes = found(4)
    nodes[0].do(nodes[0].study.leave())
    exchange(nodes)
    with pytest.raises(InputError, match="on no list of members that it could leave"):
        nodes[0].study.leave()


def leaves_of(node: Node, member: str) -> list[bool]:
    """Return what a member has said of its totals as it asked to be left out, as a node has it."""
    held = [one.record for one in node.study._desk.store.all_of(NO_DIGEST)]
    return [one.totals_visible for one in held if isinstance(one, Leave) and one.member == member]


def test_who_leaves_can_add_that_its_totals_may_be_visible_but_not_take_it_back() -> None:
    nodes = found(4)
    leaver, other = nodes[3], nodes[0]
    leaver.do(leaver.study.leave())
    exchange([nodes[2], leaver])
    assert leaves_of(nodes[2], leaver.id) == [False]
    leaver.do(leaver.study.leave(totals_visible=True))
    for is_visible in (False, True):
        assert not leaver.study.leave(totals_visible=is_visible)
    leaver.begin()
    assert leaver.study.lists.leavers == {leaver.id}
    exchange(nodes)
    assert leaves_of(other, leaver.id) == [False, True]
    assert ids_of(nodes[:3]) == {("m00", "m01", "m02")}


def test_who_leaves_from_the_next_list_says_of_its_totals_what_it_said_last() -> None:
    nodes = found(4)
    everybody = [*nodes, Node(4)]
    accept_each_other(everybody)
    nodes[0].do(nodes[0].study.propose())
    exchange([*nodes[:3], everybody[4]])
    leaver, new = nodes[3], list_of(everybody, list_of(nodes).digest)
    sign(leaver, new)
    for node in nodes[:3]:
        hear(node, *said_of(leaver, Assent, new))
    for is_visible in (False, True):
        leaver.do(leaver.study.leave(totals_visible=is_visible))
    leaver.outbox.clear()  # the others have the new list before they hear of it
    exchange(everybody)
    assert "m03" not in nodes[0].ids
    said = [one.record for one in nodes[0].study._desk.store.all_of(NO_DIGEST)]
    again = [one for one in said if isinstance(one, Leave) and one.list == new.digest]
    assert [one.totals_visible for one in again] == [True]


def test_who_leaves_while_another_joins_is_let_go_from_the_new_list() -> None:
    nodes = found(4)
    everybody = [*nodes, Node(4)]
    accept_each_other(everybody)
    nodes[3].do(nodes[3].study.propose())
    nodes[3].do(nodes[3].study.leave())  # the list that it has just signed comes to exist first
    exchange(everybody)
    assert ids_of([*everybody[:3], everybody[4]]) == {("m00", "m01", "m02", "m04")}


def test_nobody_leaves_a_list_that_would_be_too_short() -> None:
    nodes = found(4)
    nodes[3].do(nodes[3].study.leave())
    exchange(nodes[2:])
    with pytest.raises(InputError, match="a list of 2, where at least 3 members"):
        nodes[2].study.leave()
    exchange(nodes)
    assert ids_of(nodes[:3]) == {("m00", "m01", "m02")}
    with pytest.raises(InputError, match="a list of 2, where at least 3 members"):
        nodes[0].study.leave()


def test_an_eviction_needs_all_others() -> None:
    nodes = found(5)
    for node in nodes[:3]:
        node.do(node.study.evict("m04"))
    exchange(nodes[:4])
    assert ids_of(nodes[:4]) == {tuple(node.id for node in nodes)}
    nodes[3].do(nodes[3].study.evict("m04"))
    exchange(nodes[:4])
    assert ids_of(nodes[:4]) == {("m00", "m01", "m02", "m03")}
    exchange(nodes)
    with pytest.raises(InputError, match="go on without this peer"):
        nodes[4].study.ask("auc", 1, 100)


def test_an_eviction_goes_before_a_newcomer_that_waits() -> None:
    nodes = found(5)
    everybody = join(nodes)
    exchange(everybody[:2])  # two have signed the list with the newcomer, and nobody else
    for node in nodes[:4]:
        node.do(node.study.evict("m04"))
    exchange(everybody[:4], contacts=5)
    nodes[0].do(nodes[0].study.propose())
    exchange([*everybody[:4], everybody[5]], contacts=5)
    assert ids_of([*everybody[:4], everybody[5]]) == {("m00", "m01", "m02", "m03", "m05")}


def test_who_has_signed_an_eviction_gives_up_a_newcomer_that_waits_and_not_the_reverse() -> None:
    nodes = found(5)
    here = list_of(nodes).digest
    joined, smaller = list_of([*nodes, Node(5)], here), list_of(nodes[:4], here)
    sign(nodes[0], smaller)
    sign(nodes[1], joined)
    hear(nodes[0], *said_of(nodes[1], Assent, joined))
    hear(nodes[1], *said_of(nodes[0], Assent, smaller))
    assert said_of(nodes[0], Never, joined)
    assert not said_of(nodes[1], Never, smaller)


def test_who_starts_again_signs_no_list_before_it_has_heard_another() -> None:
    nodes = found(5)
    everybody = join(nodes)
    new = list_of(everybody, list_of(nodes).digest)
    smaller = list_of(nodes[:4], list_of(nodes).digest)
    nodes[0].do(nodes[0].study.evict("m04"))
    signed = said_of(nodes[0], Assent, smaller)
    late, later = nodes[2:4]
    late.study.lists.accepted.pop("m05")
    hear(late, *said_of(nodes[1], Assent, new))
    for node in (late, later):
        node.begin()
    late.do(late.study.accept_card(everybody[-1].card))
    assert not said_of(late, Assent, new)
    later.do(later.study.evict("m04"))
    assert not said_of(later, Assent, smaller)
    exchange([nodes[0], later])
    assert signed and said_of(later, Assent, smaller)


def test_least_members() -> None:
    nodes = found(3)
    with pytest.raises(InputError, match="list of 2"):
        nodes[0].study.evict("m02")


def test_lists_without_a_right_signature_take_no_memory() -> None:
    nodes = found(4)
    first, liar = nodes[0], nodes[3]
    here = first.study.members
    assert here is not None

    def hear_forged(count: int) -> None:
        for number in range(count):
            long = Card("z", "z", secrets.token_hex(2_000), None)
            new = MemberList(here.digest, (liar.card, long), number)
            forged = Assent(member=liar.id, list=new, signature=bytes(64))
            hear(first, forged)

    hear_forged(10)
    tracemalloc.start()
    hear_forged(200)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 200 * 2_000


@pytest.mark.parametrize("parents", ["one", "many", "none"])
def test_a_member_that_signs_many_lists_fills_no_disk(parents: str) -> None:
    nodes = found(4)
    first, liar = nodes[0], nodes[3]
    here = first.study.members
    assert here is not None
    for number in range(100):
        some = {"one": here.digest, "many": bytes([1 + number]) * 32, "none": NO_DIGEST}
        parent = some[parents]
        cards = tuple(replace(card, name=f"n{number}") for card in here.members)
        signed = liar.study._desk.sign(Assent(member=liar.id, list=MemberList(parent, cards)))
        first.do(first.study.receive(liar.id, encode_frame(Give((encode(signed),))), 1))
    assert len(first.study.lists.known) == 1 + 64


def test_an_eviction_that_leaves_too_few_is_refused_and_changes_nothing() -> None:
    nodes = found(3)
    with pytest.raises(InputError, match="a list of 2, where at least 3 members"):
        nodes[0].study.evict("m02")
    assert nodes[0].study.lists.evicted == set()
    nodes[0].do(nodes[0].study.contact(1))
    exchange(nodes)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}


def test_who_leaves_beside_an_eviction_stays_where_too_few_would_be_left() -> None:
    nodes = found(4)
    nodes[3].do(nodes[3].study.leave())
    exchange(nodes[1:])  # m00 hears of it once it has signed that m02 is evicted
    nodes[0].do(nodes[0].study.evict("m02"))
    exchange(nodes)
    assert "m03" in nodes[0].ids


def invite_anew(node: Node) -> None:
    """Let an operator change what it asks of rows after others have accepted its invitation."""
    node.card = replace(node.card, least_cell=node.card.least_cell + 1)
    node.begin()


@pytest.mark.parametrize("first", range(4))
def test_a_member_with_an_old_invitation_is_listed_by_its_new_one(first: int) -> None:
    nodes = [Node(number) for number in range(4)]
    accept_each_other(nodes)
    invite_anew(nodes[2])
    for one in nodes[first:] + nodes[:first]:
        one.do(one.study.propose())
        exchange(nodes)
    assert ids_of(nodes) == {()}
    assert [node.study.lists.misnamed for node in nodes] == [frozenset(["m02"])] * 4
    for one in (nodes[0], nodes[1], nodes[3]):
        one.do(one.study.accept_card(nodes[2].card))
        one.do(one.study.propose())
        exchange(nodes)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}
    assert [node.study.members.cards["m02"] for node in nodes] == [nodes[2].card] * 4  # type: ignore[union-attr]
    assert {node.study.lists.misnamed for node in nodes} == {frozenset()}


def test_a_newcomer_with_an_old_invitation_joins_by_its_new_one() -> None:
    nodes = found(4)
    everybody = join(nodes)
    new = everybody[-1]
    invite_anew(new)
    exchange(everybody, contacts=6)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}
    assert new.study.lists.misnamed == {"m04"}
    for one in nodes:
        one.do(one.study.accept_card(new.card))
    nodes[1].do(nodes[1].study.propose())
    exchange(everybody, contacts=6)
    assert ids_of(everybody) == {tuple(node.id for node in everybody)}


def sign(node: Node, new: MemberList) -> None:
    """Let a member sign a list, whatever its rules say."""
    node.do(node.study.lists._sign(new))


def list_of(nodes: list[Node], parent: bytes = NO_DIGEST) -> MemberList:
    return MemberList(parent, tuple(node.card for node in nodes))


def hear(node: Node, *records: AnyRecord) -> None:
    """Let a member take records from those that have signed them."""
    for one in records:
        node.do(node.study.receive(one.member, encode_frame(Give((encode(one),))), 1))


def put_in(nodes: list[Node], *unsigned: AnyRecord) -> None:
    """Let members have records, as from a long past; nobody acts on them."""
    signing = {f"m{number:02}": keys_of(number) for number in range(10)}
    for one in unsigned:
        record = replace(one, signature=signing[one.member].sign(payload_of(one)))
        for node in nodes:
            held = node.study._desk.store.add(record)
            assert held is not None
            node.study.lists.take(held)


def said_of(node: Node, kind: type[Assent] | type[Never], new: MemberList) -> list[Assent | Never]:
    """Return what a member has said of a list."""
    slot = new.digest, kind.__name__.lower(), 0, node.id
    return [held.record for held in node.study._desk.store.said(NO_DIGEST, slot)]


def test_a_study_is_not_founded_twice_along_two_lines() -> None:
    """Two first lists are pending, and a member has signed what follows one of them."""
    founders = [Node(number) for number in range(6)]
    accept_each_other(founders)
    one, two = list_of(founders[:5]), list_of(founders)
    after = list_of(founders[:4], one.digest)
    first = founders[0]
    first.study.lists.may_sign = True  # as once it has heard another out
    for new in (one, after):
        sign(first, new)
    rival = list_of([founders[0], *founders[2:]], two.digest)
    others = founders[1:]
    hear(first, *(node.study._desk.sign(Assent(member=node.id, list=two)) for node in others))
    hear(first, *(node.study._desk.sign(Assent(member=node.id, list=rival)) for node in others[1:]))
    assert not said_of(first, Assent, two)
    assert not said_of(first, Assent, rival)
    dead = Never(member="m01", parent=one.parent, list=one.digest)
    hear(first, founders[1].study._desk.sign(dead))
    assert not said_of(first, Assent, two)  # what follows the dead list may have been signed by all
    late = Never(member="m02", parent=after.parent, list=after.digest)
    hear(first, founders[2].study._desk.sign(late))
    assert said_of(first, Assent, two)


def test_two_lists_that_founders_propose_at_once_come_to_one() -> None:
    nodes = [Node(number) for number in range(5)]
    accept_each_other(nodes[:4])
    for node in nodes[:2]:
        node.do(node.study.propose())
    accept_each_other(nodes)
    for node in nodes[2:]:
        node.do(node.study.propose())
    exchange(nodes, contacts=6)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}


def test_a_newcomer_that_began_a_study_of_its_own_joins() -> None:
    nodes = found(4)
    everybody = [*nodes, Node(4)]
    accept_each_other(everybody)
    new = everybody[-1]
    new.do(new.study.propose())
    own = list_of(everybody)
    assert said_of(new, Assent, own)
    nodes[1].do(nodes[1].study.propose())
    exchange(everybody, contacts=6)
    assert ids_of(everybody) == {tuple(node.id for node in everybody)}
    assert new.study.members is not None
    assert new.study.members.parent == list_of(nodes).digest


@pytest.mark.parametrize("signers", [1, 2])
def test_newcomers_that_meant_to_begin_a_study_of_their_own_join(signers: int) -> None:
    """Their list is longer than the first list of the others, and some of them have signed it."""
    nodes, new = found(3), [Node(number) for number in range(3, 7)]
    accept_each_other(new)
    for node in new[:signers]:
        node.do(node.study.propose())
    exchange(new[:signers])
    everybody = [*nodes, *new]
    accept_each_other(everybody)
    nodes[1].do(nodes[1].study.propose())
    exchange(everybody, contacts=6)
    assert ids_of(everybody) == {tuple(node.id for node in everybody)}


def test_newcomers_that_do_not_know_a_former_member_join_though_they_proposed_a_list() -> None:
    """They take no signature of the former member, so to them the first list does not exist."""
    nodes, new = found(4), [Node(4), Node(5)]
    nodes[0].do(nodes[0].study.leave())
    exchange(nodes)
    stay = nodes[1:]
    accept_each_other(new)
    for node in new:
        for other in stay:
            node.do(node.study.accept_card(other.card))
            other.do(other.study.accept_card(node.card))
        node.do(node.study.propose())
    exchange(new)
    stay[0].do(stay[0].study.propose())
    exchange(stay)
    here = list_of(stay, list_of(nodes).digest)
    joined = list_of([*stay, *new], here.digest)
    for node in new:  # before the others have heard of their list
        for one in (joined, here, list_of(nodes)):
            hear(node, *(record for other in stay for record in said_of(other, Assent, one)))
        assert not said_of(node, Never, joined)
    exchange([*stay, *new], contacts=6)
    assert ids_of([*stay, *new]) == {tuple(node.id for node in [*stay, *new])}


def test_a_newcomer_gives_up_what_follows_a_dead_list() -> None:
    nodes, new = found(5), Node(5)
    dead = list_of(nodes[:4], list_of(nodes).digest)
    after = list_of([*nodes[:4], new], dead.digest)
    for node in nodes[1:4]:
        new.do(new.study.accept_card(node.card))
    sign = nodes[1].study._desk.sign
    hear(new, *(sign(Assent(member="m01", list=one)) for one in (after, dead)))
    never = Never(member="m02", parent=dead.parent, list=dead.digest)
    hear(new, nodes[2].study._desk.sign(never))
    assert said_of(new, Never, after)
    new.do(new.study.accept_card(nodes[0].card))
    again = replace(after, attempt=1)
    hear(new, sign(Assent(member="m01", list=again)))
    assert said_of(new, Never, again)


def test_a_newcomer_gives_up_no_invitation_for_a_list_of_its_own() -> None:
    """Its own list is longer than the first list of the others, which it is not on."""
    nodes = [Node(number) for number in range(4)]
    founders, new = nodes[:3], nodes[3]
    accept_each_other(founders)
    for node in founders:
        node.do(node.study.propose())
    accept_each_other(nodes)
    for node in nodes:
        node.do(node.study.propose())
    exchange(nodes)
    assert ids_of(nodes) == {tuple(node.id for node in nodes)}
    assert new.study.members is not None
    assert new.study.members.parent == list_of(founders).digest


def test_what_follows_a_dead_list_binds_whoever_has_signed_it() -> None:
    nodes = found(6)
    first = nodes[0]
    here = list_of(nodes)
    dead = list_of(nodes[:5], here.digest)
    after = list_of(nodes[:4], dead.digest)
    sign(first, dead)
    sign(first, after)
    never = Never(member="m04", parent=here.digest, list=dead.digest)
    hear(first, nodes[4].study._desk.sign(never))
    assert first.study.lists.head == after.digest
    first.do(first.study.evict("m02"))
    rival = list_of([nodes[k] for k in (0, 1, 3, 4, 5)], here.digest)
    hear(first, nodes[1].study._desk.sign(Assent(member="m01", list=rival)))
    assert not said_of(first, Assent, rival)
    hear(nodes[1], *said_of(first, Assent, dead), nodes[4].study._desk.sign(never))
    exchange(nodes[:2])
    assert said_of(nodes[1], Never, after)
    assert said_of(first, Assent, rival)


def test_an_eviction_that_is_regretted_blocks_nobody() -> None:
    nodes = found(5)
    nodes[0].do(nodes[0].study.evict("m04"))
    exchange(nodes)
    everybody = [*nodes, Node(5)]
    accept_each_other(everybody)
    for node in nodes:
        node.do(node.study.propose())
    exchange(everybody, contacts=6)
    for node in nodes:
        node.do(node.study.propose())
    exchange(everybody, contacts=6)
    assert ids_of(everybody) == {tuple(node.id for node in everybody)}


def test_founders_go_on_without_one_that_never_signs() -> None:
    nodes = [Node(number) for number in range(5)]
    accept_each_other(nodes)
    for node in nodes[:4]:
        node.do(node.study.propose())
    exchange(nodes[:4])
    assert ids_of(nodes) == {()}
    for node in nodes[:4]:
        node.do(node.study.evict("m04"))
    exchange(nodes[:4])
    assert ids_of(nodes[:4]) == {("m00", "m01", "m02", "m03")}
    nodes[4].do(nodes[4].study.propose())
    exchange(nodes)
    assert ids_of(nodes) == {("m00", "m01", "m02", "m03"), ()}


def test_where_too_few_would_stay_another_joins_first() -> None:
    nodes = found(4)
    for node in nodes[2:]:
        node.do(node.study.leave())
    exchange(nodes)  # one has left: the other stays until somebody joins
    everybody = [*nodes[:3], Node(4)]
    accept_each_other(everybody)
    for node in nodes[:3]:
        node.do(node.study.propose())
    exchange(everybody, contacts=8)
    assert {node.ids for node in everybody if node.id != "m02"} == {("m00", "m01", "m04")}


def test_a_newcomer_joins_after_many_lists_of_former_members() -> None:
    nodes = found(4)
    core, gone = nodes[:3], nodes[3]
    here = list_of(nodes)
    for number in range(140):
        members = core if number % 2 == 0 else nodes
        here = MemberList(here.digest, tuple(node.card for node in members), number)
        put_in(core, *(Assent(member=signer.id, list=here) for signer in members))
    assert here.ids == gone.ids
    for node in core:
        node.do(node.study.evict(gone.id))
    exchange(core)
    everybody = [*core, Node(5)]
    accept_each_other(everybody)
    core[0].do(core[0].study.propose())
    core[0].outbox.clear()  # the newcomer hears of the new list among all others
    exchange(everybody, contacts=30)
    assert ids_of(everybody) == {("m00", "m01", "m02", "m05")}
    assert {node.study.name for node in everybody} == {core[0].study.name}


def test_a_member_whose_lists_were_often_given_up_still_proposes_another() -> None:
    nodes = found(4)
    here = list_of(nodes)
    for number in range(1, 71):
        given_up = replace(list_of(nodes, here.digest), attempt=1000 + number)
        here = replace(list_of(nodes, here.digest), attempt=number)
        never = Never(member="m02", parent=given_up.parent, list=given_up.digest)
        put_in(nodes, Assent(member="m01", list=given_up), never)
        put_in(nodes, *(Assent(member=node.id, list=here) for node in nodes))
    assert nodes[0].study.members == here
    everybody = join(nodes)  # m01 proposes it
    exchange(nodes)  # the newcomer would bring it, too
    assert all(said_of(node, Assent, list_of(everybody, here.digest)) for node in nodes)


def test_operators_who_evict_different_members_do_not_repeat_that_for_ever() -> None:
    nodes = found(6)
    nodes[0].do(nodes[0].study.evict("m04"))
    nodes[1].do(nodes[1].study.evict("m05"))
    exchange(nodes, contacts=8)
    assert len(nodes[2].study.lists.known) < 40
    for node in nodes[:4]:
        for member in {"m04", "m05"} - node.study.lists.evicted:
            node.do(node.study.evict(member))
    exchange(nodes, contacts=4)
    assert ids_of(nodes[:4]) == {("m00", "m01", "m02", "m03")}


def test_an_operator_takes_back_that_it_has_accepted_a_newcomer() -> None:
    nodes = found(4)
    wrong = Node(9)
    for node in nodes[1:]:
        node.do(node.study.accept_card(wrong.card))
        node.do(node.study.evict(wrong.id))
    nodes[0].do(nodes[0].study.accept_card(wrong.card))
    nodes[0].do(nodes[0].study.evict(wrong.id))
    everybody = [*nodes, Node(4)]
    accept_each_other(everybody)
    nodes[0].do(nodes[0].study.propose())
    exchange(everybody, contacts=6)
    assert ids_of(everybody) == {tuple(node.id for node in everybody)}


def test_who_signs_a_list_and_that_it_never_will_is_named() -> None:
    nodes = found(4)
    liar = nodes[3]
    new = list_of(nodes[1:], list_of(nodes).digest)
    both = (
        liar.study._desk.sign(Assent(member=liar.id, list=new)),
        liar.study._desk.sign(Never(member=liar.id, parent=new.parent, list=new.digest)),
    )
    hear(nodes[0], both[0])
    assert nodes[0].study.lists.liars == frozenset()
    hear(nodes[0], both[1])
    assert nodes[0].study.lists.liars == {liar.id}


def test_a_list_that_a_liar_has_signed_may_exist_whatever_it_says_later() -> None:
    nodes = found(5)
    first, liar = nodes[0], nodes[3]
    here = list_of(nodes)
    new, rival = list_of(nodes[:4], here.digest), list_of([*nodes[:3], nodes[4]], here.digest)
    sign(first, new)
    hear(
        first,
        liar.study._desk.sign(Assent(member=liar.id, list=new)),
        liar.study._desk.sign(Never(member=liar.id, parent=new.parent, list=new.digest)),
    )
    first.do(first.study.evict(liar.id))
    assert first.study.lists.evicted == {liar.id}
    assert not said_of(first, Assent, rival)


def test_a_newcomer_signs_also_what_comes_before_a_list_that_it_has_signed() -> None:
    nodes, new = found(4), [Node(4), Node(5)]
    accept_each_other([*nodes, *new])
    before = list_of([*nodes, new[0]], list_of(nodes).digest)
    after = list_of([*nodes, *new], before.digest)
    for one in (after, before):
        hear(new[0], nodes[1].study._desk.sign(Assent(member="m01", list=one)))
        assert said_of(new[0], Assent, one)


def test_a_newcomer_follows_the_others_over_a_list_that_it_has_not_signed() -> None:
    nodes, new = found(4), Node(4)
    joined = list_of([*nodes, new], list_of(nodes).digest)
    given_up = list_of([*nodes, new, Node(5)], joined.digest)
    after = list_of([*nodes, new], given_up.digest)
    for node in nodes:
        new.do(new.study.accept_card(node.card))
    sign(new, after)
    sign(new, joined)
    put_in([new], *(Assent(member=node.id, list=joined) for node in nodes))
    assert new.study.members == joined
    put_in([new], Assent(member="m01", list=given_up))
    put_in([new], *(Assent(member=node.id, list=after) for node in nodes))
    assert new.study.members == after


@pytest.mark.parametrize("kind", ["evicts two", "adds one, too"])
def test_a_list_of_more_than_one_change_is_not_signed(kind: str) -> None:
    nodes, new = found(6), Node(6)
    first = nodes[0]
    accept_each_other([first, new])
    first.study.lists.evicted |= {"m04", "m05"}
    here = list_of(nodes).digest
    both = list_of(nodes[:4] if kind == "evicts two" else [*nodes[:5], new], here)
    hear(first, nodes[1].study._desk.sign(Assent(member="m01", list=both)))
    assert not said_of(first, Assent, both)
    assert said_of(first, Assent, list_of([*nodes[:4], nodes[5]], here))


def test_a_list_that_changes_the_card_of_a_member_is_not_signed() -> None:
    nodes, new = found(4), Node(4)
    first = nodes[0]
    here = list_of(nodes).digest
    joined = list_of([*nodes, new], here)
    other = replace(nodes[2].card, least_cell=7)
    changed = replace(
        joined, members=tuple(other if one.id == "m02" else one for one in joined.members)
    )
    first.do(first.study.accept_card(new.card))
    for one in (changed, joined):
        hear(first, nodes[1].study._desk.sign(Assent(member="m01", list=one)))
    assert not said_of(first, Assent, changed)
    assert said_of(first, Assent, joined)
