-- Folds the ledger into the rollups: the rows of transactions that are finished, in their order, up to a watermark that is kept.

-- The oldest transaction that may still book rows here, or the next one: all before it are finished. Those of other databases book nothing here; one
-- that has ended since is waited for once more.
create function gateway.oldest_running() returns xid8
    language plpgsql set search_path = '' as $$
declare
    now constant pg_snapshot := pg_current_snapshot();
begin
    return coalesce(
        (select x from pg_snapshot_xip(now) as x
            where not exists (
                select from pg_stat_activity a
                where a.backend_xid = x::xid and a.datid <> (select d.oid from pg_database d where d.datname = current_database()))
            order by x limit 1),
        pg_snapshot_xmax(now));
end $$;

-- Folds ledger rows of finished transactions, of at most about so many rows, or of one transaction; returns how many there were. NULL: another
-- instance folds. Runs with its owner's rights, because the gateway's role sees the ledger of one user at a time.
create function gateway.fold_rollups(at_most integer) returns integer
    language plpgsql security definer set search_path = '' set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    state gateway.rollup_state;
    -- The statement's time is before this snapshot, so what was booked until then has a lower id.
    next_id constant xid8 := pg_snapshot_xmax(pg_current_snapshot());
    -- Rows of transactions below it are complete: none of them is running.
    upper constant xid8 := gateway.oldest_running();
    next xid8;
    found_rows integer;
    days date[];
begin
    select * into state from gateway.rollup_state for update skip locked;
    if not found then
        return null;
    end if;
    insert into gateway.rollup_marks (at, before) values (statement_timestamp(), next_id) on conflict do nothing;
    select count(*), max(f.booked_in), array_agg(distinct f.day) into found_rows, next, days
    from (
        select l.booked_in, l.day from public.usage_logs l
        where l.booked_in >= state.watermark and l.booked_in < upper
        order by l.booked_in limit at_most + 1) as f;
    if found_rows <= at_most then
        -- Another instance may have come further since this one looked.
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
revoke all on function gateway.oldest_running() from coach_gateway;
grant execute on function gateway.fold_rollups(integer) to coach_gateway;
