"""What only a server can do to a bank: it is shared, goes away and comes back; and that it gives what SQLite does."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from datetime import datetime, timezone

import psycopg
import pytest
from layered_bank import ANN, BOB, MAY, QUERIES, TALK, filled, layered, told
from pooler import pooler
from sqlalchemy import create_engine, func, insert, select, text
from sqlalchemy.engine import make_url

from secom_core.bank import MemoryBank, Parts, remember_soon
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, SchemaTooNew, StoreError, StoreLocked, StoreUnwritable
from secom_core.stores.database import retry_if_contended, waiting_at_most
from secom_core.stores.migrations import VERSION
from secom_core.stores.opening import open_store
from secom_core.stores.postgres import open_postgres
from secom_core.stores.reasons import ConnectionLost
from secom_core.stores.rows import scope_key
from secom_core.stores.schema import messages, schema_versions, scopes, sessions

NOON = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)


def said(words: str, name: str | None = None) -> list[Message]:
    return [Message(words, id=name, at=NOON)]


def others(postgres, url: str, what: str) -> list[object]:
    """Run a statement about every other connection to the test's database."""
    name = make_url(url).database
    return postgres.execute(f"SELECT {what} FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()")


# -- the same as SQLite ---------------------------------------------------------------------------------------------


def test_every_layer_is_made_and_found_as_on_sqlite(tmp_path, postgres_url):
    with filled(tmp_path / "bank.db") as file, filled(postgres_url) as server:
        for scope in (ANN, BOB):
            on_file, on_server = told(file, scope), told(server, scope)
            for each in (on_file, on_server):
                # When an answer was taken in, and the number by which it is told from others.
                each["log"] = [(one.query, one.impression.turn_ids, one.cited) for one in each["log"]]
            assert on_server == on_file


def test_one_connection_is_enough_for_all_layers(postgres_url):
    store = open_postgres(postgres_url, pool_size=1)
    with MemoryBank(store, Parts(timelines=True, summaries=True, topics=True, citations=True)) as bank:
        for name, lines in TALK.items():
            bank.remember(ANN, [{"role": "user", "content": words} for _, words in lines], session=name, close=True)
        recall = bank.recall(ANN, QUERIES[0], now=MAY)
        assert bank.citations.reward(ANN, QUERIES[0], recall.impression, [1]).kind == "recorded"
        assert bank.forget(ANN, session="s2") > 0


def test_names_of_any_length_are_found_by_index(postgres_url):
    store = open_store(postgres_url)
    for number in range(300):
        store.append(ANN, f"s{number}", said(f"words {number}", f"m{number}"))
    with store.transaction() as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan TO off")
        plan = connection.exec_driver_sql(
            "EXPLAIN SELECT id FROM messages WHERE scope_id = %s AND hashtextextended(name, 0) IN"
            " (hashtextextended(%s, 0), hashtextextended(%s, 0)) AND name IN (%s, %s)",
            (store.scope(ANN).id, "m1", "m2", "m1", "m2"),
        )
        assert "messages_by_name" in str(plan.all())
    store.close()


def ways_to_the_server(monkeypatch) -> list[str]:
    """What is sent from now on, each after what came before was answered."""
    sent: list[str] = []
    execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit

    def executing(cursor, query, *given, **options):
        if not cursor.connection.autocommit:
            sent.append("BEGIN of the driver")
        sent.append(str(query))
        return execute(cursor, query, *given, **options)

    def committing(connection):
        if connection.info.transaction_status:
            sent.append("COMMIT")
        commit(connection)

    monkeypatch.setattr(psycopg.Cursor, "execute", executing)
    monkeypatch.setattr(psycopg.Connection, "commit", committing)
    return sent


def test_one_statement_takes_one_way_to_the_server(postgres_url, monkeypatch):
    store = open_store(postgres_url)
    store.append(ANN, "s", said("words"))
    ways = ways_to_the_server(monkeypatch)
    assert [row.name for row in store.sessions(store.scope(ANN).id)] == ["s"]
    assert len(ways) == 2
    assert store.turns(store.session_named(ANN, "s"))[0].text == "user: words"
    assert len(ways) == 4
    store.scopes()
    assert [way.split()[0] for way in ways[4:]] == ["BEGIN", "SELECT", "COMMIT"], "as of one moment"
    store.close()


def test_a_transaction_begins_in_one_way_to_the_server(postgres_url, monkeypatch):
    store = open_store(postgres_url, busy_timeout=5)
    store.append(ANN, "s", said("words"))
    ways = ways_to_the_server(monkeypatch)
    for scope in (ANN, store.scope(ANN).id, None):
        ways.clear()
        with store.transaction(scope=scope):
            pass
        assert len(ways) == 2
        assert "lock_timeout" in ways[0]
        assert "pg_advisory_xact_lock" in ways[0]
    store.close()


def test_connections_may_be_lent_out_by_the_transaction(postgres_url):
    def talk(bank: MemoryBank, user: str) -> None:
        for number in range(8):
            bank.remember((user,), [("user", f"{user} took step {number}.")], session="s")
            block = bank.recall((user,), f"step {number}").text
            assert f"{user} took step {number}." in block
            assert len(set(re.findall(r"\w+(?= took)", block))) == 1

    with pooler(postgres_url) as url, ExitStack() as banks, ThreadPoolExecutor(4) as pool:
        two = [banks.enter_context(MemoryBank.open(url)) for _ in range(2)]
        list(pool.map(talk, two * 2, ("ann", "bob", "cid", "dan")))


def test_behind_a_pooler_who_has_read_for_an_answer_keeps_no_connection_of_its(postgres_url):
    """It gives its connections to whoever says anything, and takes them back once the server has answered."""
    with pooler(postgres_url, size=1) as url, ExitStack() as banks:
        two = [banks.enter_context(MemoryBank.open(url)) for _ in range(2)]
        two[0].remember(ANN, said("The parcel has arrived."), session="s")
        found: list[bool] = []

        def recall() -> None:
            for bank in two * 3:
                with waiting_at_most(5):
                    found.append("parcel" in bank.recall(ANN, "parcel").text)

        recalling = threading.Thread(target=recall, daemon=True)
        recalling.start()
        recalling.join(20)
        assert found == [True] * 6


# -- several writers ------------------------------------------------------------------------------------------------


def test_an_empty_database_may_be_opened_by_many_at_once(postgres):
    with postgres.database() as url, ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(open_store, [url] * 8))
        with stores[0].transaction(write=False) as connection:
            versions = connection.scalars(select(schema_versions.c.version).order_by(schema_versions.c.version)).all()
        assert versions == list(range(1, VERSION + 1))
        for store in stores:
            store.close()


def test_writers_of_one_scope_wait_for_each_other_and_write_each_message_once(postgres_url):
    stores = [open_store(postgres_url) for _ in range(4)]
    begin = threading.Barrier(16)

    def write(writer: int) -> int:
        begin.wait()
        store, new = stores[writer % 4], 0
        for number in range(12):
            # Everybody wants to be the first to write each of these.
            new += store.append(ANN, "shared", said(f"words {number}", f"m{number}")).new
            new += store.append(ANN, f"own-{writer}", said(f"of {writer}")).new
        return new

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(write, range(16))) == 12 + 16 * 12
    with stores[0].transaction(write=False) as connection:
        assert connection.scalar(select(func.count()).select_from(scopes)) == 1
        assert connection.scalar(select(func.count()).select_from(sessions)) == 17
        assert connection.scalar(select(func.count()).select_from(messages)) == 12 + 16 * 12
    for row in stores[1].sessions(stores[1].scope(ANN).id):
        assert [turn.index for turn in stores[1].turns(row)] == list(range(row.turns))
    for store in stores:
        store.close()


def test_writers_of_other_scopes_do_not_wait(postgres_url):
    store = open_store(postgres_url)
    with store.transaction(scope=ANN):
        began = time.monotonic()
        store.append(("acme", "bob"), "s", said("words"))
        assert time.monotonic() - began < 5
    store.close()


def test_a_scope_has_the_lock_that_earlier_versions_take(postgres_url):
    scope = ("it's", "\\ü𐍈")
    store = open_store(postgres_url)
    with store.transaction(scope=scope), store.transaction(write=False) as other:
        key = {"key": scope_key(scope)}
        hashed = text("SELECT hashtextextended(:key, 1936024429) & 4294967295")
        taken = text("SELECT CAST(objid AS BIGINT) FROM pg_locks WHERE locktype = 'advisory'")
        assert other.scalars(taken).all() == [other.scalar(hashed, key)]
    store.close()


def test_those_that_write_leave_connections_to_those_that_read(postgres_url, monkeypatch):
    store = open_postgres(postgres_url, pool_size=6)
    monkeypatch.setattr(store._some, "_patience", 60)
    inside, most, guard = 0, 0, threading.Lock()

    def write(number: int) -> None:
        nonlocal inside, most
        with store.transaction(scope=("acme", str(number))):
            with guard:
                inside += 1
                most = max(most, inside)
            time.sleep(0.005)
            with guard:
                inside -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(write, range(60)))
    assert most == 2
    store.close()


def test_a_writer_that_may_not_wait_tries_again(postgres_url):
    hasty = open_store(f"{postgres_url}&options=-c%20lock_timeout%3D40ms")
    patient = open_store(postgres_url)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with patient.transaction(scope=ANN):
            held.set()
            release.wait(120)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    threading.Timer(0.3, release.set).start()
    assert hasty.append(ANN, "s", said("words")).new == 1
    holder.join()
    for store in (hasty, patient):
        store.close()


def test_where_another_program_has_the_tables_to_itself_reads_wait_no_longer_than_they_may(postgres, postgres_url):
    with MemoryBank.open(postgres_url) as bank:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        bank.recall(ANN, "parcel")
        with postgres.tables_taken(postgres_url):
            began = time.monotonic()
            with waiting_at_most(0.2), pytest.raises(StoreLocked, match="nothing was read; this call waits no longer"):
                bank.recall(ANN, "parcel")
            assert bank.health().last_error is not None
            assert remember_soon(bank, None, ANN, said("I signed for it."), session="s", within=0.2) is None
            assert time.monotonic() - began < 20
        assert bank.writers.copy().pop().flush(20)
        assert [turn.content for turn in bank.turns(ANN)] == ["The parcel has arrived.", "I signed for it."]
        with waiting_at_most(1):
            assert "signed" in bank.recall(ANN, "parcel").text


def test_a_read_that_may_wait_takes_one_way_to_the_server_and_leaves_no_setting(postgres_url, monkeypatch):
    store = open_postgres(postgres_url, pool_size=1)
    store.append(ANN, "s", said("words"))
    ways = ways_to_the_server(monkeypatch)
    with waiting_at_most(1):
        assert store.scope(ANN) is not None
    assert len(ways) == 1
    assert "lock_timeout" in ways[0]
    with store.transaction(write=False) as connection:
        assert connection.scalar(text("SHOW lock_timeout")) == "0"
    store.close()


# -- a server that goes away ----------------------------------------------------------------------------------------


def test_a_connection_lost_in_mid_call_is_a_clear_error_and_the_next_call_works(postgres, postgres_url):
    store = open_store(postgres_url)
    store.append(ANN, "s", said("before"))
    with pytest.raises(StoreError, match=r"the store at postgresql.* failed"), store.transaction(scope=ANN) as held:  # noqa: PT012
        held.execute(insert(scopes).values(key='["lost"]', revision=0, epoch=0))
        others(postgres, postgres_url, "pg_terminate_backend(pid)")
        held.execute(select(scopes.c.id))
    assert store.append(ANN, "s", said("after")).new == 1
    assert store.scopes() == [ANN]
    store.close()


def test_a_call_whose_connection_is_lost_before_anything_is_written_begins_again(postgres, postgres_url):
    """Whether it waits for its turn as the server ends the connection, or has begun to read."""
    with MemoryBank.open(postgres_url) as bank, ThreadPoolExecutor(1) as pool, ExitStack() as held:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        other = open_postgres(postgres_url)
        held.enter_context(other.transaction(scope=ANN))
        waiting = pool.submit(bank.remember, ANN, said("I signed for it."), session="s")
        while not postgres.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'"):
            time.sleep(0.01)
        others(postgres, postgres_url, "CASE WHEN wait_event = 'advisory' THEN pg_terminate_backend(pid) END")
        with suppress(StoreError):
            held.close()
        assert waiting.result(20).new == 1
        other.close()

    reads: list[bool] = []

    @retry_if_contended
    def read() -> list[object]:
        reads.append(True)
        with store.transaction(write=False) as connection:
            connection.execute(select(scopes.c.id))
            if len(reads) == 1:
                others(postgres, postgres_url, "pg_terminate_backend(pid)")
            return list(connection.execute(select(scopes.c.key)).scalars())

    store = open_store(postgres_url)
    assert read() == [scope_key(ANN)]
    assert len(reads) == 2
    store.close()


def test_a_call_begins_again_where_a_pooler_says_that_it_lost_the_server(postgres, postgres_url):
    tries: list[bool] = []

    @retry_if_contended
    def read() -> list[object]:
        tries.append(True)
        with store.transaction(scope=ANN) as connection:
            if len(tries) == 1:
                others(postgres, postgres_url, "pg_terminate_backend(pid)")
            return list(connection.execute(select(scopes.c.key)).scalars())

    with pooler(postgres_url, size=1) as url, closing(open_postgres(url)) as store:
        store.append(ANN, "s", said("The parcel has arrived."))
        assert read() == [scope_key(ANN)]
        assert len(tries) == 2


@pytest.mark.parametrize("last_words", [False, True])
def test_where_a_pooler_lends_out_connections_that_it_lost_a_new_one_is_asked_for_again(
    postgres, postgres_url, last_words
):
    """As after a restart of the server: the pooler notices only when somebody uses each of its connections."""
    with pooler(postgres_url, size=3, last_words=last_words) as url:
        with MemoryBank.open(url) as bank:
            bank.remember(ANN, said("The parcel has arrived."), session="s")
        others(postgres, postgres_url, "pg_terminate_backend(pid)")
        with MemoryBank.open(url) as bank:
            assert bank.remember(ANN, said("I signed for it."), session="s").new == 1
            assert bank.recall(ANN, "parcel").hits


@pytest.mark.parametrize("last_words", [False, True])
def test_a_connection_that_a_pooler_lost_before_the_commit_is_told_as_lost(postgres, postgres_url, last_words):
    with pooler(postgres_url, size=1, last_words=last_words) as url, closing(open_postgres(url)) as store:
        store.append(ANN, "s", said("The parcel has arrived."))
        with pytest.raises(ConnectionLost), store.transaction(scope=ANN) as connection:  # noqa: PT012
            connection.execute(insert(scopes).values(key='["lost"]', revision=0, epoch=0))
            others(postgres, postgres_url, "pg_terminate_backend(pid)")
        assert store.scopes() == [ANN]


def test_a_call_begins_again_where_it_was_silent_for_longer_than_the_server_allows(postgres_url):
    tries: list[bool] = []

    @retry_if_contended
    def pause() -> None:
        tries.append(True)
        with store.transaction(scope=ANN) as connection:
            time.sleep(0 if len(tries) > 1 else 0.5)
            connection.execute(select(scopes.c.key))

    store = open_postgres(f"{postgres_url}&options=-c%20idle_in_transaction_session_timeout%3D100ms")
    pause()
    assert len(tries) == 2
    store.close()


def test_an_answer_waits_where_the_server_allows_no_more_time(postgres_url):
    limited = f"{postgres_url}&options=-c%20statement_timeout%3D300ms"
    with MemoryBank.open(limited) as bank, closing(open_postgres(postgres_url)) as other:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        with other.transaction(scope=ANN):
            with pytest.raises(StoreUnwritable, match=r"statement timeout; try again.*statement_timeout"):
                bank.remember(ANN, said("I signed for it."), session="s")
            with pytest.warns(DegradedWarning, match="waits in memory"):
                assert remember_soon(bank, None, ANN, said("I signed for it."), session="s") is None
        assert bank.writers.copy().pop().flush(20)
        assert [turn.content for turn in bank.turns(ANN)] == ["The parcel has arrived.", "I signed for it."]


def test_a_call_waits_no_longer_than_a_transaction_may_take(postgres, postgres_url):
    if not postgres.execute("SELECT 1 FROM pg_settings WHERE name = 'transaction_timeout'"):
        pytest.skip("PostgreSQL before 17 has no such setting")
    limited = f"{postgres_url}&options=-c%20transaction_timeout%3D300ms"
    with MemoryBank.open(limited) as bank, closing(open_postgres(postgres_url)) as other:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        with other.transaction(scope=ANN):
            began = time.monotonic()
            with pytest.raises(StoreUnwritable, match="transaction timeout; try again"):
                bank.remember(ANN, said("I signed for it."), session="s")
            assert time.monotonic() - began < 10
        assert bank.remember(ANN, said("I signed for it."), session="s").new == 1


@pytest.mark.slow
def test_an_answer_that_ends_while_the_server_is_away_is_written_when_it_is_back(postgres, postgres_url):
    with MemoryBank.open(postgres_url) as bank:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        postgres.stop_now()
        try:
            assert remember_soon(bank, None, ANN, said("I signed for it."), session="s") is None
        finally:
            postgres.start_again()
        assert bank.writers.copy().pop().flush(20)
        assert [message.text for turn in bank.turns(ANN) for message in turn.messages] == [
            "The parcel has arrived.",
            "I signed for it.",
        ]


@pytest.fixture
def two_at_most(postgres, postgres_url):
    """A role that may have two connections."""
    postgres.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 2 IN ROLE pg_read_all_data, pg_write_all_data")
    yield make_url(postgres_url).set(username="few").render_as_string(hide_password=False)
    postgres.execute("DROP ROLE few")


def test_where_the_server_takes_no_more_connections_calls_wait_for_those_that_there_are(two_at_most):
    with MemoryBank.open(two_at_most) as bank, ThreadPoolExecutor(8) as pool:
        added = pool.map(
            lambda n: bank.remember(("acme", str(n % 8)), [("user", f"step {n}")], session="s").new, range(24)
        )
        assert sum(added) == 24


def test_where_there_is_none_to_wait_for_the_error_says_what_helps(two_at_most, monkeypatch):
    monkeypatch.setattr("secom_core.stores.transactions.CROWDED_S", 0.1)
    first, second = open_postgres(two_at_most, pool_size=1), open_postgres(two_at_most, pool_size=1)
    with pytest.raises(StoreError, match=r"too many connections.*pool_size"):
        open_postgres(two_at_most)
    first.close()
    open_postgres(two_at_most).close()
    second.close()


def test_connections_lost_between_calls_are_not_noticed(postgres, postgres_url):
    with MemoryBank.open(postgres_url) as bank:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        assert others(postgres, postgres_url, "pg_terminate_backend(pid)")
        assert bank.recall(ANN, "parcel").hits


def wait_for_more(promised: list[list[str]], writers: list[threading.Thread]) -> None:
    before = sum(map(len, promised))
    while sum(map(len, promised)) < before + 20:
        assert all(writer.is_alive() for writer in writers)
        time.sleep(0.005)


@pytest.mark.filterwarnings("ignore::secom_core.errors.DegradedWarning")
def test_nothing_acknowledged_is_lost_when_the_server_crashes_under_load(postgres, postgres_url):
    promised: list[list[str]] = [[] for _ in range(4)]
    errors: list[Exception] = []
    ended = threading.Event()
    with MemoryBank.open(postgres_url) as bank:

        def write(writer: int) -> None:
            number = 0
            while not ended.is_set():
                name = f"{writer}-{number}"
                try:
                    bank.remember(ANN, said(f"Parcel {name} is here.", name), session=f"s{writer}")
                except StoreError as error:
                    # What may or may not have been written is said again under its id.
                    errors.append(error)
                    time.sleep(0.02)
                else:
                    # Also where the server went away before segments were made of it.
                    promised[writer].append(name)
                    number += 1

        writers = [threading.Thread(target=write, args=[writer], daemon=True) for writer in range(4)]
        for writer in writers:
            writer.start()
        for _ in range(2):
            wait_for_more(promised, writers)
            postgres.stop_now()
            time.sleep(0.05)
            postgres.start_again()
        wait_for_more(promised, writers)
        ended.set()
        for writer in writers:
            writer.join()
        assert errors, "the server went away and nobody noticed"
        stored = [turn.id for name in bank.sessions(ANN) for turn in bank.turns(ANN, name)]
        assert len(stored) == len(set(stored))
        assert {name for each in promised for name in each} <= set(stored)
        last = promised[2][-1]
        assert last in {turn.id for turn in bank.recall(ANN, f"Parcel {last}", k=200).turns}


def test_what_is_acknowledged_is_on_disk_even_where_the_server_says_otherwise(postgres_url):
    lax = open_store(f"{postgres_url}&options=-c%20synchronous_commit%3Doff")
    with lax.transaction(scope=ANN) as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == "on"
    with lax.transaction(scope=ANN, durable=False) as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == "off"
    with lax.transaction(write=False) as connection:
        assert connection.scalar(text("SHOW transaction_isolation")) == "repeatable read"
        assert connection.scalar(text("SHOW transaction_read_only")) == "on"
    lax.close()


def test_a_server_that_only_reads_is_recalled_from(postgres_url):
    with MemoryBank.open(postgres_url) as bank:
        bank.remember(ANN, [("user", "I moved to Ghent.")], session="s", later=True)
    with MemoryBank.open(f"{postgres_url}&options=-c%20default_transaction_read_only%3Don") as standby:
        assert "Ghent" in standby.recall(ANN, "Where did I move?").text
        assert any("Ghent" in line for line in standby.storage.export(ANN))
        assert not standby.health().writable
        with pytest.raises(StoreUnwritable, match="read-only transaction"):
            standby.remember(ANN, [("user", "I like tea.")], session="s")


@pytest.fixture
def new_role(postgres):
    """A role without any rights."""
    postgres.execute("CREATE ROLE app LOGIN")
    yield "app"
    postgres.execute("DROP ROLE app")


def test_a_role_that_may_only_read_recalls_and_its_answers_wait_for_the_right_to_write(postgres, new_role):
    with postgres.database() as url, psycopg.connect(url, autocommit=True) as admin, MemoryBank.open(url) as bank:
        bank.remember(ANN, [("user", "I moved to Ghent.")], session="s", later=True)
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO app")
        with MemoryBank.open(make_url(url).set(username=new_role).render_as_string()) as reader:
            assert "Ghent" in reader.recall(ANN, "Where did I move?").text
            assert any("Ghent" in line for line in reader.storage.export(ANN))
            health = reader.health()
            assert health.reachable
            assert not health.writable
            with pytest.raises(StoreUnwritable, match=r"permission denied for table .*; grant the role"):
                reader.remember(ANN, [("user", "I like tea.")], session="s")
            with pytest.warns(DegradedWarning, match="waits in memory"):
                assert remember_soon(reader, None, ANN, [Message("I like tea.")], session="s") is None
            admin.execute("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app")
            admin.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO app")
            assert reader.writers.copy().pop().flush(20)
            assert reader.health().writable
        assert [turn.content for turn in bank.turns(ANN)] == ["I moved to Ghent.", "I like tea."]


def test_a_role_that_may_make_no_tables_is_told_what_it_needs(postgres, new_role):
    with postgres.database() as url:
        mine = make_url(url).set(username=new_role)
        with pytest.raises(StoreError, match="permission denied for schema public; grant the role CREATE"):
            MemoryBank.open(mine.render_as_string())
        nowhere = mine.update_query_dict({"options": "-c search_path=nowhere"})
        with pytest.raises(StoreError, match=r"no schema has been selected .*ALTER ROLE"):
            MemoryBank.open(nowhere.render_as_string())


def test_what_a_full_disk_of_the_server_refuses_waits_until_there_is_room(postgres):
    full = """
        CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
        END $$ LANGUAGE plpgsql;
        CREATE TRIGGER full_disk BEFORE INSERT ON messages EXECUTE FUNCTION full_disk()
    """
    with postgres.database() as url, MemoryBank.open(url) as bank, psycopg.connect(url, autocommit=True) as admin:
        admin.execute(full)
        with pytest.raises(StoreUnwritable, match="No space left on device"):
            bank.remember(ANN, [("user", "I moved to Ghent.")], session="s")
        with pytest.warns(DegradedWarning, match=r"waits in memory.*No space left on device"):
            assert remember_soon(bank, None, ANN, [Message("I moved to Ghent.")], session="s") is None
        admin.execute("DROP TRIGGER full_disk ON messages")
        deadline = time.monotonic() + 60
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [turn.content for turn in bank.turns(ANN)] == ["I moved to Ghent."]


# -- words of its own -----------------------------------------------------------------------------------------------


def test_a_later_schema_is_refused(postgres):
    with postgres.database() as url:
        store = open_store(url)
        with store.transaction() as connection:
            connection.execute(insert(schema_versions).values(version=VERSION + 1))
        store.close()
        with pytest.raises(SchemaTooNew, match="upgrade secom-memory"):
            open_store(url)


def test_a_schema_of_its_own_beside_other_tables(postgres_url):
    engine = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS apart")
    with layered(f"{postgres_url}&options=-c%20search_path%3Dapart") as bank:
        bank.remember(ANN, said("The parcel has arrived."), session="s")
        assert bank.recall(ANN, "parcel").hits
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM apart.messages").scalar() == 1
        assert connection.exec_driver_sql("SELECT count(*) FROM public.messages").scalar() == 0
        connection.exec_driver_sql("DROP SCHEMA apart CASCADE")
    engine.dispose()


@pytest.mark.parametrize(
    "url", ["postgresql://ann:pa55word@127.0.0.1:1/bank", "postgres://ann:pa55word@127.0.0.1:1/bank"]
)
def test_a_server_that_is_not_there_is_a_clear_error_without_the_password(url):
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with pytest.raises(StoreError, match=r"127\.0\.0\.1.*failed") as failed:
        MemoryBank.open(url)
    assert "pa55word" not in f"{failed.value}{failed.value.__cause__}"


def test_a_url_that_is_none_is_refused_without_the_password():
    with pytest.raises(InvalidInput, match="expected postgresql://") as refused:
        open_store("postgresql://ann:pa55word@host:not-a-port/bank")
    assert "pa55word" not in str(refused.value)


@pytest.mark.parametrize(("given", "used"), [("0", 0), ("9", 9), ("None", None)])
def test_when_statements_are_prepared_may_be_said_in_the_url(postgres_url, given, used):
    store = open_postgres(f"{postgres_url}&prepare_threshold={given}")
    with store.transaction(write=False) as connection:
        assert connection.connection.driver_connection.prepare_threshold == used
    store.close()


def test_when_statements_are_prepared_is_a_number():
    with pytest.raises(InvalidInput, match="prepare_threshold"):
        open_postgres("postgresql://localhost/memory?prepare_threshold=never")


def test_a_connection_that_nobody_uses_is_kept_alive_unless_the_url_says_otherwise(postgres_url):
    for said, seconds in (("", "60"), ("&keepalives_idle=5", "5")):
        store = open_postgres(f"{postgres_url}{said}")
        with store.transaction(write=False) as connection:
            info = connection.connection.driver_connection.info
            assert info.get_parameters()["keepalives_idle"] == seconds
        store.close()


def test_errors_hold_no_words_and_the_path_no_password(postgres_url):
    url = make_url(postgres_url)
    known = url.set(username="postgres", password="pa55word").render_as_string(hide_password=False)
    with MemoryBank.open(known) as bank:
        assert "pa55word" not in bank.storage.path
        assert make_url(bank.storage.path).database == url.database
        with pytest.raises(StoreError) as failed, bank._store.transaction(scope=ANN) as connection:
            connection.execute(insert(scopes).values(key="what Ann said in confidence", revision="no number", epoch=0))
        assert "confidence" not in str(failed.value)
