-- Old days of the ledger: their partitions are detached and stay as tables of schema ledger, to be archived or dropped. The rollups keep their
-- figures.

-- The ledger has all days from here on; NULL: no day was detached.
alter table gateway.rollup_state add column ledger_start date;

-- Detaches the oldest partition if its day is more than `days_kept` days ago, but never one of the last 31, and it is in the rollups. Returns whether
-- it did. One at a time: turns wait for the lock of the ledger meanwhile, so it gives up early itself.
create function gateway.detach_usage_partition(days_kept integer) returns boolean
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    newest constant date := (now() at time zone 'UTC')::date - greatest(days_kept, 31) - 1;
    state gateway.rollup_state;
    oldest record;
    has_more boolean;
begin
    perform pg_advisory_xact_lock(hashtext('gateway.make_usage_partitions'));
    select * into state from gateway.rollup_state for update skip locked;
    if not found then
        return false;
    end if;
    select c.relname as name, to_date(right(c.relname, 8), 'YYYYMMDD') as day into oldest
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'public.usage_logs'::regclass and c.relname ~ '^usage_logs_[0-9]{8}$'
    order by 2 limit 1;
    if oldest.day is null or oldest.day > newest then
        return false;
    end if;
    execute format('select exists (select from ledger.%I l where l.booked_in >= $1)', oldest.name) into has_more using state.watermark;
    if has_more then
        return false;
    end if;
    execute format('alter table public.usage_logs detach partition ledger.%I', oldest.name);
    update gateway.rollup_state s set ledger_start = oldest.day + 1;
    return true;
end $$;

-- Makes the rollups anew from the ledger, for the owner of the tables; folding waits meanwhile. Figures of days that the ledger has no more stay.
-- Returns the day from which on they are new; NULL: all are.
create function gateway.rebuild_rollups() returns date
    language plpgsql set search_path = '' set work_mem = '256MB' as $$
declare
    upper xid8;
    start date;
    name text;
begin
    select s.ledger_start into start from gateway.rollup_state s for update;
    upper := gateway.oldest_running();
    foreach name in array array[
        'usage_quarters', 'usage_hours', 'key_quarters', 'key_hours', 'persona_quarters', 'error_quarters', 'latency_quarters', 'latency_hours',
        'domain_latency_quarters', 'domain_latency_hours']
    loop
        execute format('delete from gateway.%I where $1 is null or bucket >= $1::timestamp at time zone ''UTC''', name) using start;
    end loop;
    foreach name in array array[
        'usage_days', 'key_days', 'persona_days', 'account_usage_days', 'account_days', 'conversation_days', 'error_days', 'latency_days']
    loop
        execute format('delete from gateway.%I where $1 is null or day >= $1', name) using start;
    end loop;
    truncate gateway.activity_days, gateway.retention_weeks;
    execute gateway.folding_statement(true) using '0'::xid8, upper, case when start is not null then array[start] end;
    if start is not null then
        -- Activity of a day depends on days before: from all days of accounts.
        truncate gateway.activity_days, gateway.retention_weeks;
        insert into gateway.activity_days (day, active, weekly_change, monthly_change, conversations)
        with span as (
            select d.day as first, w.length,
                least(d.day + w.length, lead(d.day) over (partition by d.account_id, w.length order by d.day)) as end
            from gateway.account_days d cross join (values (7), (30)) as w (length)
            where d.account_id <> gateway.nobody()
        ), change as (
            select s.first as day, 0 as active, (s.length = 7)::integer as weekly, (s.length = 30)::integer as monthly, 0 as conversations from span s
            union all
            select s.end, 0, -(s.length = 7)::integer, -(s.length = 30)::integer, 0 from span s
            union all
            select d.day, 1, 0, 0, 0 from gateway.account_days d where d.account_id <> gateway.nobody()
            union all
            select c.day, 0, 0, 0, 1 from gateway.conversation_days c
        )
        select c.day, sum(c.active), sum(c.weekly), sum(c.monthly), sum(c.conversations) from change c group by c.day;
        insert into gateway.retention_weeks (cohort, week, accounts)
        select w.cohort, w.week, count(*) from (
            select distinct d.account_id, date_trunc('week', d.day::timestamp)::date as week,
                date_trunc('week', (min(d.day) over (partition by d.account_id))::timestamp)::date as cohort
            from gateway.account_days d where d.account_id <> gateway.nobody()) as w
        group by 1, 2;
    end if;
    update gateway.rollup_state s
    set watermark = upper, as_of = coalesce((select max(m.at) from gateway.rollup_marks m where m.before <= upper), s.as_of);
    return start;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
revoke all on function gateway.rebuild_rollups() from coach_gateway;
grant execute on function gateway.detach_usage_partition(integer) to coach_gateway;
