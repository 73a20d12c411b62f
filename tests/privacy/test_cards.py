"""Numbers of payment cards: found in groups or after a word that announces them, and nothing else taken for one."""

from __future__ import annotations

import random
import uuid
from hashlib import sha256

import pytest

from contextd.privacy import scrub, scrub_text
from contextd.privacy.cards import is_card

# Made up: valid check digits, of no account.
VISA, MASTER, AMEX = "4539 5787 6362 1486", "5290-2381-7745-6609", "3714 496353 98431"


def with_check_digit(digits: str) -> str:
    return next(digits + str(last) for last in range(10) if _luhn(digits + str(last)))


def _luhn(digits: str) -> bool:
    doubled = [int(one) * (2 if place % 2 else 1) for place, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


CARDS = [
    VISA,
    AMEX,
    "-".join(with_check_digit("529023817745660")[at : at + 4] for at in (0, 4, 8, 12)),
    " ".join(with_check_digit("601100987654321")[at : at + 4] for at in (0, 4, 8, 12)),
]


@pytest.mark.parametrize("number", CARDS)
@pytest.mark.parametrize(
    "text",
    [
        "my number is {}",
        "{}",
        "pay with {}, it is valid until 04/29",
        "Card: {}.",
        "a\n  {}\nb",
        "Karte: {} 12/27",
        "name,card,expiry\nBob,{},12/27",
        "- {}",
        "* {}",
        "\u2022 {}",
        "({})",
    ],
)
def test_a_number_in_groups_is_redacted(number: str, text: str) -> None:
    clean, finds = scrub_text(text.format(number))
    assert number not in clean and clean == text.format("[REDACTED]") and [find.rule for find in finds] == ["payment-card"]


@pytest.mark.parametrize(
    "text",
    [
        "my credit card is {}",
        "Visa {}",
        "card number: {}",
        "Meine Kreditkarte hat die Nummer {}",
        "ma carte bancaire : {}",
        'card_number = "{}"',
        "mi tarjeta de crédito es {}",
    ],
)
def test_a_number_without_groups_is_redacted_where_a_card_is_announced(text: str) -> None:
    number = VISA.replace(" ", "")
    assert number not in scrub_text(text.format(number))[0]
    assert number in scrub_text(f"the order {number} was shipped")[0], "an id, for all we know"


def test_all_cards_of_a_list_and_numbers_with_spaces_that_do_not_break_are_redacted() -> None:
    assert scrub_text(f"cards {VISA}, {MASTER} and {AMEX}")[0] == "cards [REDACTED], [REDACTED] and [REDACTED]"
    assert scrub_text(VISA.replace(" ", "\u00a0"))[0] == "[REDACTED]"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("CVC: 738", "738"),
        ("the cvv is 4821", "4821"),
        ("seed phrase: army van defense carry jealous true garbage claim echo media make crunch", "defense carry"),
        ("use ctd_Zk3vQ9xWm2Lr7TbY5nPcXa8D for it", "Zk3vQ9xWm2"),
    ],
)
def test_codes_of_cards_seed_phrases_and_own_tokens_are_redacted(text: str, secret: str) -> None:
    assert secret not in scrub_text(text)[0]


def test_other_numbers_ids_and_hashes_stay() -> None:
    """One of thirty numbers of 16 digits could be a card by its first digits and its check digit."""
    chance = random.Random(5)  # the same numbers in every run
    numbers = [str(chance.randrange(10**15, 10**16)) for _ in range(5000)]
    assert 50 < sum(is_card(one.encode()) for one in numbers) < 500
    hashes = [sha256(one.encode()).hexdigest() for one in numbers[:500]]
    ids = [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(500)]
    times = [f"16{chance.randrange(10**11, 10**12)}" for _ in range(500)]
    rows = [" ".join(str(chance.randrange(2000, 7000)) for _ in range(6)) for _ in range(2000)]
    dotted = [".".join(one[at : at + 4] for at in (0, 4, 8, 12)) for one in numbers[:500]]
    text = "\n".join([*(f"id: {one}" for one in numbers), *hashes, *ids, *times, *rows, *dotted])
    assert scrub_text(text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        "4539 5787 6362 1487",  # a wrong check digit
        "card 4242 4242 4242 4242 and 4111 1111 1111 1111 are for tests",
        "credit card 9539578763621486",
        "2011 2012 2013 2014",
        "my IBAN is DE89 3704 0044 0532 0130 00",
        "GB29NWBK60161331926819",
        "call +49 4539 5787 6362 1486",
        "ISBN 978-3-16-148410-0, phone 0171 1234567",
        "the card game of 5290 players",
        "1.4539 5787 6362 1486",
    ],
)
def test_what_is_no_card_stays(text: str) -> None:
    assert scrub_text(text) == (text, [])


def test_tests_and_documents_keep_their_numbers() -> None:
    data = f"charge('{VISA}')  # credit card {VISA}\n".encode()
    assert scrub(data, "python", path="src/billing.py")[1]
    assert not scrub(data, "python", path="tests/test_billing.py")[1]
    assert not scrub(data, "markdown", path="docs/billing.md")[1]
