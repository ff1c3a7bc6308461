-- Figures are folded by the ids of the transactions that booked the ledger's rows, and each cluster counts its own. In a database that was restored from a
-- dump, or replicated logically, they begin again at a lower number: new rows were below the watermark and never folded. The ledger therefore has its own
-- ids, a transaction's id and a shift, which grows when a row would be below the watermark.

alter table gateway.rollup_state add column shift bigint not null default 0;

-- Lets the ids of all running transactions, and of later ones, be at least the watermark and above those of the ledger's rows, so that these are folded next;
-- returns the new shift. The caller has locked the row, and found an id below the watermark, which shows that the watermark is another cluster's.
create function gateway.shift_ledger_ids() returns bigint
    language sql set search_path = '' as $$
    update gateway.rollup_state s
    set shift = greatest(s.watermark::text::bigint, (select max(l.booked_in)::text::bigint + 1 from public.usage_logs l))
        - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    returning s.shift
$$;

-- The id under which this transaction books. With its owner's rights: the gateway's role does not read the state.
create function gateway.ledger_id() returns xid8
    language plpgsql security definer set search_path = '' as $$
declare
    own constant bigint := pg_current_xact_id()::text::bigint;
    state gateway.rollup_state;
begin
    select * into state from gateway.rollup_state;
    if own + state.shift < state.watermark::text::bigint then
        -- Another transaction may have shifted the ids meanwhile.
        select * into state from gateway.rollup_state for update;
        if own + state.shift < state.watermark::text::bigint then
            state.shift := gateway.shift_ledger_ids();
        end if;
    end if;
    return (own + state.shift)::text::xid8;
end $$;

alter table public.usage_logs alter column booked_in set default gateway.ledger_id();

-- As before, as an id of the ledger.
create or replace function gateway.oldest_running() returns xid8
    language plpgsql set search_path = '' as $$
declare
    now constant pg_snapshot := pg_current_snapshot();
    oldest constant xid8 := coalesce(
        (select x from pg_snapshot_xip(now) as x
            where not exists (
                select from pg_stat_activity a
                where a.backend_xid = x::xid and a.datid <> (select d.oid from pg_database d where d.datname = current_database()))
            order by x limit 1),
        pg_snapshot_xmax(now));
begin
    return (oldest::text::bigint + (select s.shift from gateway.rollup_state s))::text::xid8;
end $$;

-- As before, with ids of the ledger.
create or replace function gateway.fold_rollups(at_most integer) returns integer
    language plpgsql security definer set search_path = '' set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    state gateway.rollup_state;
    next_id xid8;
    upper xid8;
    next xid8;
    found_rows integer;
    days date[];
begin
    select * into state from gateway.rollup_state for update skip locked;
    if not found then
        return null;
    end if;
    -- The statement's time is before this snapshot, so what was booked until then has a lower id.
    next_id := (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + state.shift)::text::xid8;
    if next_id < state.watermark then
        -- Before anything is booked here: rows of the former cluster above the watermark are folded, too.
        perform gateway.shift_ledger_ids();
        return 0;
    end if;
    -- Rows of transactions below it are complete: none of them is running.
    upper := gateway.oldest_running();
    insert into gateway.rollup_marks (at, before) values (statement_timestamp(), next_id) on conflict do nothing;
    select count(*), max(f.booked_in), array_agg(distinct f.day) into found_rows, next, days
    from (
        select l.booked_in, l.day from public.usage_logs l
        where l.booked_in >= state.watermark and l.booked_in < upper
        order by l.booked_in limit at_most + 1) as f;
    if found_rows <= at_most then
        -- A transaction of another database may have ended since, and counts this time.
        next := greatest(upper, state.watermark);
    elsif not exists (select from public.usage_logs l where l.booked_in >= state.watermark and l.booked_in < next) then
        -- All of them are of one transaction, which is folded whole.
        next := (next::text::bigint + 1)::text::xid8;
        days := (select array_agg(distinct l.day) from public.usage_logs l where l.booked_in >= state.watermark and l.booked_in < next);
    end if;
    if found_rows > 0 then
        perform gateway.fold_rows(state.watermark, next, days);
    end if;
    update gateway.rollup_state s
    set watermark = next,
        as_of = case when s.pending = '{}' then coalesce((select max(m.at) from gateway.rollup_marks m where m.before <= next), s.as_of) else s.as_of end;
    delete from gateway.rollup_marks m where m.at < (select s.as_of from gateway.rollup_state s);
    return found_rows;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
revoke all on function gateway.shift_ledger_ids(), gateway.oldest_running() from coach_gateway;
grant execute on function gateway.ledger_id(), gateway.fold_rollups(integer) to coach_gateway;
