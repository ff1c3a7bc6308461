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
    if not found or state.pending <> '{}' then
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

-- Begins to make the rollups anew: what is booked until now is left to gateway.rebuild_day, for the days that it returns, newest first; what is booked from
-- now on is folded as always. Figures of days that the ledger has no more stay.
create function gateway.begin_rebuild() returns date[]
    language plpgsql set search_path = '' as $$
declare
    days date[];
begin
    perform from gateway.rollup_state for update;
    update gateway.rollup_state s
    set watermark = greatest(s.watermark, gateway.oldest_running()), pending = array(
        select d.day
        from (
            select to_date(right(c.relname, 8), 'YYYYMMDD') as day
            from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = 'public.usage_logs'::regclass and c.relname ~ '^usage_logs_[0-9]{8}$'
            union
            select l.day from ledger.usage_logs_other l
            union
            select u.day from gateway.usage_days u) as d
        where s.ledger_start is null or d.day >= s.ledger_start
        order by d.day desc)
    returning s.pending into days;
    return days;
end $$;

-- Makes the rollups of a day anew from its rows below the watermark, but for those of weeks. Nothing is folded meanwhile. Days that are not neighbours can
-- be made beside each other, when nobody begins another rebuild and gateway.end_rebuild is called after all of them: the benchmark does so.
create function gateway.rebuild_day(day date) returns void
    language plpgsql set search_path = '' set work_mem = '128MB' set jit = off as $$
declare
    starts constant timestamptz := day::timestamp at time zone 'UTC';
    half_past constant timestamptz := starts - interval '30 minutes';
    ends constant timestamptz := starts + interval '1 day';
    state gateway.rollup_state;
    name text;
begin
    select * into state from gateway.rollup_state for share;
    foreach name in array array[
        'usage_quarters', 'usage_hours', 'persona_quarters', 'error_quarters', 'latency_quarters', 'latency_hours', 'domain_latency_quarters',
        'domain_latency_hours', 'key_quarters', 'key_hours']
    loop
        execute format(
            'delete from gateway.%I where %s bucket >= $1 and bucket < $2', name,
            -- The first column of their indexes.
            case when name like 'key%' then 'key = any (''{tier, model, domain, persona_id}'') and'
                when name like '%latency_hours' then 'shift = 0 and' end)
            using starts, ends;
    end loop;
    foreach name in array array[
        'usage_days', 'key_days', 'persona_days', 'account_usage_days', 'account_days', 'conversation_days', 'error_days', 'latency_days']
    loop
        execute format('delete from gateway.%I t where t.day = $1', name) using day;
    end loop;
    execute gateway.folding_statement(true) using null::xid8, state.watermark, day;
    -- Hours of latency that begin at half past, from the quarters of their days.
    delete from gateway.latency_hours h where h.shift = 30 and h.bucket >= half_past and h.bucket < ends;
    insert into gateway.latency_hours (shift, bucket, provider, model, measure, turns, histogram)
    select 30, date_bin('1 hour', q.bucket, half_past) as hour, q.provider, q.model, q.measure, sum(q.turns), gateway.total(q.histogram)
    from gateway.latency_quarters q where q.bucket >= half_past and q.bucket < ends + interval '30 minutes'
    group by hour, q.provider, q.model, q.measure;
    delete from gateway.domain_latency_hours h where h.shift = 30 and h.bucket >= half_past and h.bucket < ends;
    insert into gateway.domain_latency_hours (shift, bucket, domain, measure, turns, histogram)
    select 30, date_bin('1 hour', q.bucket, half_past) as hour, q.domain, q.measure, sum(q.turns), gateway.total(q.histogram)
    from gateway.domain_latency_quarters q where q.bucket >= half_past and q.bucket < ends + interval '30 minutes'
    group by hour, q.domain, q.measure;
end $$;

-- Makes the activity of days and the retention anew from the days of accounts: they depend on days before.
create function gateway.rebuild_activity() returns void
    language plpgsql set search_path = '' set work_mem = '128MB' set jit = off as $$
begin
    perform from gateway.rollup_state for update;
    delete from gateway.activity_days;
    insert into gateway.activity_days (day, active, weekly_change, monthly_change, conversations)
    select c.day, sum(c.active), sum(c.weekly), sum(c.monthly), sum(c.conversations)
    from (
        select s.*
        from (
            select d.day, lead(d.day) over (partition by d.account_id order by d.day) as next
            from gateway.account_days d where d.account_id <> gateway.nobody() and (d.turns <> 0 or d.messages <> 0)) as d
        cross join lateral (values
            (d.day, 1, 1, 1, 0), (least(d.day + 7, d.next), 0, -1, 0, 0), (least(d.day + 30, d.next), 0, 0, -1, 0)
        ) as s (day, active, weekly, monthly, conversations)
        union all
        select v.day, 0, 0, 0, count(*) from gateway.conversation_days v group by v.day) as c
    group by c.day;
    delete from gateway.account_weeks;
    insert into gateway.account_weeks (cohort, week, account_id, is_active)
    select min(d.week) over (partition by d.account_id) as cohort, d.week, d.account_id, true
    from (
        select distinct a.account_id, date_trunc('week', a.day::timestamp)::date as week
        from gateway.account_days a where a.account_id <> gateway.nobody() and (a.turns <> 0 or a.messages <> 0)) as d
    order by 1, 2, 3;
    delete from gateway.retention_weeks;
    insert into gateway.retention_weeks (cohort, week, accounts)
    select w.cohort, w.week, count(*) from gateway.account_weeks w group by 1, 2;
end $$;

-- Makes a week anew, of a Monday, from its days.
create function gateway.rebuild_week(monday date) returns void
    language plpgsql set search_path = '' set work_mem = '128MB' set jit = off as $$
declare
    keys constant text[] := array['persona_id', 'persona_tier', 'persona_model', 'persona_domain'];
    measures constant text[] := (
        select array_agg(a.attname::text order by a.attnum) from pg_attribute a
        where a.attrelid = 'gateway.figures'::regclass and a.attnum > 0 and not a.attisdropped);
begin
    delete from gateway.key_weeks w where w.key = any (keys) and w.week = monday;
    execute format(
        'insert into gateway.key_weeks (week, key, tier, provider, model, domain, persona_id, %1$s) '
        'select $1, d.key, d.tier, d.provider, d.model, d.domain, d.persona_id, %2$s from gateway.key_days d '
        'where d.key = any ($2) and d.day >= $1 and d.day < $1 + 7 group by 2, 3, 4, 5, 6, 7',
        array_to_string(measures, ', '), (select string_agg(format('gateway.total(d.%I)', m), ', ') from unnest(measures) as m)) using monday, keys;
end $$;

-- Notes that a day's rollups were made, and with the last one of a week, or of all, makes what depends on several days: a rebuild that is broken off before
-- is seen to be.
create function gateway.end_rebuild(day date) returns void
    language plpgsql set search_path = '' as $$
declare
    monday constant date := date_trunc('week', day::timestamp)::date;
    state gateway.rollup_state;
begin
    update gateway.rollup_state s set pending = array_remove(s.pending, day) returning s.* into state;
    if not exists (select from unnest(state.pending) as p where p >= monday and p < monday + 7) then
        perform gateway.rebuild_week(monday);
    end if;
    if state.pending = '{}' then
        perform gateway.rebuild_activity();
    end if;
end $$;

-- Makes the rollups anew from the ledger, for the owner of the tables, a day at a time: each is committed, and read by operators from then on; a week with
-- its last day. One that was
-- broken off is to be called again. Without settings of its own, because it commits.
create procedure gateway.rebuild_rollups()
    language plpgsql as $$
declare
    days constant date[] := gateway.begin_rebuild();
    a_day date;
begin
    commit;
    foreach a_day in array days loop
        perform gateway.rebuild_day(a_day);
        perform gateway.end_rebuild(a_day);
        commit;
    end loop;
    if cardinality(days) = 0 then perform gateway.rebuild_activity(); end if;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
revoke all on procedure gateway.rebuild_rollups() from public, anon, authenticated, coach_gateway;
revoke all on function
    gateway.begin_rebuild(), gateway.rebuild_day(date), gateway.rebuild_week(date), gateway.end_rebuild(date), gateway.rebuild_activity()
    from coach_gateway;
grant execute on function gateway.detach_usage_partition(integer) to coach_gateway;
