"""What declared providers' deliveries say, and what a declaration must not say."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import CHARGE, DOCUMENT, EVENTS, REFUND, declared, problem

from contracts.catalogue import BUILT_IN, Catalogue
from verifiers.connection import Connection
from verifiers.connections import ConnectionsError, carried_by, declared_in, load_connections
from verifiers.events import Delivery, DeliveryError, Event
from verifiers.providers import provider_of, providers

DELIVERY = Delivery("shop", {"x-type": "refund.created", "x-id": "d-1"}, b"")
CREATED = 1773330138


def refund(kind: str = "refund.created", **changes: Any) -> dict[str, Any]:
    """A body as Stripe sends it; ``...`` drops a member of the refund."""
    members = {
        "id": "re_3TEST0001",
        "object": "refund",
        "amount": 4250,
        "charge": "ch_3TEST0001",
        "created": CREATED,
        "payment_intent": "pi_3TEST0001",
    } | changes
    return {
        "id": "evt_3TEST0001",
        "object": "event",
        "type": kind,
        "created": CREATED + 5,
        "data": {"object": {name: value for name, value in members.items() if value is not ...}},
    }


def events(document: dict[str, Any], connection: Connection | None = None) -> list[Event]:
    return provider_of(connection or declared()).normalise(DELIVERY, document)


@pytest.mark.parametrize("kind", ["refund.created", "refund.updated"])
def test_a_refund_names_itself_its_charge_and_its_own_birth(kind: str) -> None:
    identifiers = {"refund_id": "re_3TEST0001", "charge_id": "ch_3TEST0001"}
    assert events(refund(kind)) == [Event("evt_3TEST0001", kind, "re_3TEST0001", "2026-03-12T15:42:18Z", identifiers)]


def test_a_refunded_charge_may_name_its_refund_within_a_list() -> None:
    document = refund("charge.refunded", id="ch_3TEST0001", refunds={"data": [{"id": "re_3", "created": CREATED}]})
    (event,) = events(document)
    assert event.resource_id == "re_3"
    assert event.identifiers == {"refund_id": "re_3", "charge_id": "ch_3TEST0001"}


def with_events(**changes: Any) -> Connection:
    return declared(events={name: value for name, value in (EVENTS | changes).items() if value is not ...})


def with_type(**changes: Any) -> Connection:
    return with_events(types={"refund.created": REFUND | changes})


def test_type_and_id_may_stand_in_headers() -> None:
    connection = with_events(type={"header": "X-Type"}, id={"header": "X-ID"})
    (event,) = events(refund("whatever"), connection)
    assert (event.type, event.id) == ("refund.created", "d-1")


@pytest.mark.parametrize("id_", [..., "nowhere", {"header": "X-Nowhere"}])
def test_an_event_need_not_have_an_id(id_: Any) -> None:
    assert events(refund(), with_events(id=id_))[0].id == ""


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        ("unix_s", 1773330138, "2026-03-12T15:42:18Z"),
        ("unix_s", 0, "1970-01-01T00:00:00Z"),
        ("unix_s", 253402300799, "9999-12-31T23:59:59Z"),
        ("unix_ms", 1773330138042, "2026-03-12T15:42:18.042Z"),
        ("rfc3339", "2026-03-12T08:42:18-07:00", "2026-03-12T08:42:18-07:00"),
    ],
)
def test_a_birth_is_as_exact_as_the_provider_gives_it(form: str, value: Any, text: str) -> None:
    connection = with_type(created={"path": "data.object.created", "form": form})
    assert events(refund(created=value), connection)[0].created_at == text


@pytest.mark.parametrize(
    ("form", "value", "class_"),
    [
        ("unix_s", ..., "malformed_delivery"),
        ("unix_s", None, "malformed_delivery"),
        ("unix_s", "1773330138", "malformed_delivery"),
        ("unix_s", 1773330138.0, "malformed_delivery"),
        ("unix_s", True, "malformed_delivery"),
        ("unix_s", -1, "impossible_date"),
        ("unix_s", 1773330138042, "impossible_date"),
        ("unix_ms", 253402300800000, "impossible_date"),
        ("rfc3339", 1773330138, "malformed_delivery"),
        ("rfc3339", "2026-19-12T15:42:18Z", "impossible_date"),
        ("rfc3339", "", "impossible_date"),
    ],
)
def test_a_birth_that_cannot_be_is_refused_by_name(form: str, value: Any, class_: str) -> None:
    connection = with_type(created={"path": "data.object.created", "form": form})
    with pytest.raises(DeliveryError, match=r"^data\.object\.created") as caught:
        events(refund(created=value), connection)
    assert caught.value.class_ == class_


@pytest.mark.parametrize("value", [..., None, ""])
def test_an_identifier_that_is_missing_is_left_out_and_none_is_guessed(value: Any) -> None:
    assert events(refund(charge=value))[0].identifiers == {"refund_id": "re_3TEST0001"}


@pytest.mark.parametrize("value", [True, 1.5, [], {}, ["ch"], {"id": "ch"}])
@pytest.mark.parametrize("member", ["charge", "id"])
def test_an_identifier_that_is_none_is_refused_by_name(member: str, value: Any) -> None:
    with pytest.raises(DeliveryError, match=rf"^data\.object\.{member} is no text") as caught:
        events(refund(**{member: value}))
    assert caught.value.class_ == "malformed_delivery"


def test_a_whole_number_is_an_identifier() -> None:
    number = 890088186047892319
    assert events(refund(charge=number))[0].identifiers["charge_id"] == "890088186047892319"


@pytest.mark.parametrize("value", [..., None, ""])
def test_what_has_no_id_is_refused(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^data\.object\.id is missing"):
        events(refund(id=value))


@pytest.mark.parametrize("value", [None, "", 7.5, [], True])
def test_an_event_without_a_type_is_refused(value: Any) -> None:
    with pytest.raises(DeliveryError) as caught:
        provider_of(declared()).event_type(DELIVERY, {"type": value})
    assert caught.value.class_ == "malformed_delivery"


# -- declarations


def test_a_declared_provider_has_the_name_that_contracts_know_it_by() -> None:
    provider = provider_of(declared())
    assert (provider.name, provider.carried["refund.created"]) == ("stripe", {"refund_id", "charge_id"})
    assert "stripe" not in providers()


def types(**changes: Any) -> dict[str, Any]:
    return {"events": EVENTS | {"types": {"refund.created": REFUND | changes}}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"provider": "Stripe"}, "provider"),
        ({"provider": "my stripe"}, "provider"),
        ({"provider": "my-stripe"}, "provider"),
        ({"provider": ""}, "provider"),
        ({"provider": 7}, "provider: unknown provider 7"),
        ({"provider": "paypal"}, "events: Extra inputs are not permitted"),
        ({"events": ...}, "unknown provider 'stripe': there are paypal, shopify; a connection with `events` declares"),
        ({"events": {}}, "events.type: Field required"),
        ({"events": EVENTS | {"types": {}}}, "events.types"),
        ({"events": EVENTS | {"type": {}}}, "events.type: give either `path` or `header`"),
        ({"events": EVENTS | {"type": {"path": "a", "header": "b"}}}, "events.type: give either `path` or `header`"),
        ({"events": EVENTS | {"type": {"header": "a b"}}}, "events.type.header"),
        ({"events": EVENTS | {"other": 1}}, "events.other"),
        (types(resource="$.data"), "events.types.refund.created.resource: must be a path into the body"),
        (types(resource=""), "must be a path into the body, such as data.object.id"),
        (types(resource="data..id"), "must be a path into the body"),
        (types(resource="data.items[*].id"), "must name one value"),
        (types(resource=7), "events.types.refund.created.resource"),
        (types(created="data.created"), "events.types.refund.created.created"),
        (types(created={"path": "a"}), "events.types.refund.created.created.form"),
        (types(created={"path": "a", "form": "iso"}), "events.types.refund.created.created.form"),
        (types(identifiers={}), "events.types.refund.created.identifiers"),
        (types(identifiers={"Refund": "a"}), "events.types.refund.created.identifiers"),
        ({"credentials": {}}, "credentials: give one of `bearer`, `basic` and `header`"),
        (
            {"credentials": {"bearer": "LEAKED", "header": {"name": "X-Key", "value": "LEAKED"}}},
            "credentials: give one of `bearer`, `basic` and `header`",
        ),
        ({"credentials": {"header": {"name": "Host", "value": "LEAKED"}}}, "credentials.header.name"),
        ({"credentials": {"header": {"name": "X Y", "value": "LEAKED"}}}, "credentials.header.name"),
        ({"credentials": {"basic": {"password": "LEAKED"}}}, "credentials.basic.username"),
        ({"shop": "x"}, "shop: Extra inputs"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    sentence = problem(**changes)
    assert sentence.startswith("test: ")
    assert said in sentence
    assert "LEAKED" not in sentence


@pytest.mark.parametrize(
    ("credentials", "headers"),
    [
        ({"bearer": "sk_1"}, {"authorization": "Bearer sk_1"}),
        ({"basic": {"username": "sk_1"}}, {"authorization": "Basic c2tfMTo="}),
        ({"basic": {"username": "u", "password": "p"}}, {"authorization": "Basic dTpw"}),
        ({"header": {"name": "X-Api-Key", "value": "sk_1"}}, {"x-api-key": "sk_1"}),
    ],
)
async def test_reads_are_authorised_as_declared(credentials: dict[str, Any], headers: dict[str, str]) -> None:
    import httpx  # noqa: PLC0415

    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200)

    connection = declared(credentials=credentials)
    auth = provider_of(connection).authorise(connection)
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), auth=auth) as client:
        await client.get("https://api.stripe.com/v1/refunds/re_1")
    assert headers.items() <= dict(seen[0]).items()


def test_without_credentials_nothing_is_authorised() -> None:
    connection = declared(credentials=...)
    assert provider_of(connection).authorise(connection) is None


# -- which events a catalogue may count on


def connections_file(directory: Path, *changes: dict[str, Any]) -> Path:
    documents = [
        DOCUMENT | {"id": f"c{number}", "credentials": {"bearer": {"env": "STRIPE_KEY"}}} | one
        for number, one in enumerate(changes)
    ]
    path = directory / "connections.yaml"
    path.write_text(yaml.safe_dump({"connections": documents}))
    return path


def test_a_catalogue_is_told_of_declared_events_and_of_built_in_ones() -> None:
    carried = carried_by([declared(), declared(id="other")])
    assert carried("stripe") == {name: {"refund_id", "charge_id"} for name in EVENTS["types"]}
    assert set(carried("paypal") or ()) >= {"PAYMENT.CAPTURE.REFUNDED"}
    assert carried("adyen") is None
    assert carried_by([])("stripe") is None


def test_the_connections_of_one_provider_declare_the_same_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIPE_KEY", "sk_1")
    other = REFUND | {"identifiers": {"refund_id": "data.object.id"}}
    for different in (
        EVENTS | {"types": EVENTS["types"] | {"refund.created": other}},
        EVENTS | {"types": {"refund.created": REFUND}},
    ):
        path = connections_file(tmp_path, {}, {"events": different})
        with pytest.raises(ConnectionsError) as caught:
            load_connections(path)
        assert str(caught.value).startswith(f"{path}: connection c1: events: these are not the events of stripe")
    moved = EVENTS | {"types": EVENTS["types"] | {"refund.created": REFUND | {"resource": "data.object.other"}}}
    assert list(load_connections(connections_file(tmp_path, {}, {"events": moved}))) == ["c0", "c1"]


def test_what_is_declared_can_be_read_without_the_secrets(tmp_path: Path) -> None:
    path = connections_file(tmp_path, {}, {"provider": "shopify", "events": 7}, {"provider": "acme"})
    carried = declared_in(path)
    assert set(carried("stripe") or ()) == set(carried("acme") or ()) == set(EVENTS["types"])
    assert carried("adyen") is None
    assert set(carried("shopify") or ()) >= {"REFUNDS_CREATE"}


def test_a_wrong_declaration_is_named_there_too(tmp_path: Path) -> None:
    path = connections_file(tmp_path, {"events": EVENTS | {"types": {"x": CHARGE | {"resource": "$"}}}})
    with pytest.raises(ConnectionsError) as caught:
        declared_in(path)
    assert str(caught.value).startswith(f"{path}: connection c0: events: types.x.resource: must be a path")


def contract(directory: Path, *replacements: tuple[str, str]) -> Path:
    """PayPal's contract of a refund, rewritten for a declared provider."""
    text = (BUILT_IN / "paypal" / "refund.recorded.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("id: paypal.refund.recorded", "id: stripe.refund.recorded"),
        ("provider: paypal", "provider: stripe"),
        ("types: [PAYMENT.CAPTURE.REFUNDED]", "types: [refund.created]"),
        ("where: {capture_id: $input.capture_id}", "where: {charge_id: $input.capture_id}"),
        ("case_key: {name: capture_id,", "case_key: {name: charge_id,"),
        *replacements,
    ):
        assert old in text, old
        text = text.replace(old, new, 1)
    directory.mkdir(exist_ok=True)
    (directory / "stripe.yaml").write_text(text, encoding="utf-8")
    return directory


def test_a_contract_of_a_declared_provider_is_checked_against_what_is_declared(tmp_path: Path) -> None:
    def problems(connections: list[Connection], *replacements: tuple[str, str]) -> str:
        own = contract(tmp_path / "own", *replacements)
        found = Catalogue.load([own], carried=carried_by(connections)).problems
        return "\n".join(str(one) for one in found if one.file.is_relative_to(own))

    assert problems([declared()]) == ""
    assert "there is no provider `stripe` here" in problems([])
    made = ("types: [refund.created]", "types: [refund.made]")
    assert "no event refund.made of stripe is known" in problems([declared()], made)
    customer = ("where: {charge_id:", "where: {customer_id:")
    assert "filtering on `customer_id` would count none of them" in problems([declared()], customer)


def test_a_body_as_stripe_writes_it_is_json_like_any_other() -> None:
    assert events(json.loads(json.dumps(refund(), indent=2)))[0].resource_id == "re_3TEST0001"
