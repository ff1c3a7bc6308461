-- After the database's clock was set back, figures went on to say that they were complete up to a time that had not come yet, and their lag was negative,
-- until the clock had come as far as before. A primary that takes over with a clock that is behind does the same.

-- As in 00095, but a time that has not come yet counts as not known. The tolerance is for statements that began a little earlier.
create or replace function gateway.fold_rollups(at_most integer) returns integer
    language plpgsql security definer set search_path = '' set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    latest constant timestamptz := statement_timestamp() + interval '1 second';
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
    delete from gateway.rollup_marks m where m.at > latest;
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
        as_of = coalesce(
            case when s.pending = '{}' then (select max(m.at) from gateway.rollup_marks m where m.before <= next) end,
            case when s.as_of <= latest then s.as_of end);
    delete from gateway.rollup_marks m where m.at < (select s.as_of from gateway.rollup_state s);
    return found_rows;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.fold_rollups(integer) to coach_gateway;
