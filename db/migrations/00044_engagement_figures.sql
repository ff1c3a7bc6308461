-- Figures of engagement: who uses the coach, how much, and who comes back. Their arguments are those of all figures.

-- A row for each UTC day of the period, none in the future; with the grain `week` for each of its weeks, which are counted whole. messages: of
-- users, whose turn ended. turns: those with a receipt. weekly and monthly: accounts with a message within 7 and 30 days, this one or the last of the
-- week included. Conversations are not kept by weeks: NULL.
create function operator.usage(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, active_users bigint, weekly_active_users bigint, monthly_active_users bigint, conversations bigint,
        messages bigint, messages_per_conversation numeric, turns bigint, errors bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    is_weeks constant boolean := grain = 'week';
    length constant integer := case when is_weeks then 7 else 1 end;
    first_day constant date := date_trunc(case when is_weeks then 'week' else 'day' end, starts at time zone 'UTC');
    last_of_period constant date := (ends - interval '1 microsecond') at time zone 'UTC';
    last_day constant date := least(
        case when is_weeks then date_trunc('week', last_of_period::timestamp)::date + 6 else last_of_period end, (now() at time zone 'UTC')::date);
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day'], grain, tz);
    if grain = 'hour' then
        raise exception 'usage is by days and weeks' using errcode = 'invalid_parameter_value';
    end if;
    return query
        with usage as materialized (
            select date_trunc(grain, u.day::timestamp)::date as first, sum(u.messages) as messages, sum(u.turns) as turns, sum(u.errors) as errors
            from gateway.usage_days u where u.day between first_day and last_day group by 1
        ), activity as materialized (
            select a.day, a.active, a.conversations, sum(a.weekly_change) over so_far as weekly, sum(a.monthly_change) over so_far as monthly
            from gateway.activity_days a window so_far as (order by a.day)
        ), week as materialized (
            select r.week as first, sum(r.accounts)::bigint as active from gateway.retention_weeks r
            where is_weeks and r.week between first_day and last_day group by r.week
        )
        select d.first::timestamp at time zone 'UTC', coalesce(w.active, a.active, 0), coalesce(before.weekly, 0)::bigint,
            coalesce(before.monthly, 0)::bigint, case when not is_weeks then coalesce(a.conversations, 0) end, coalesce(u.messages, 0)::bigint,
            round(u.messages / nullif(a.conversations, 0), 2), coalesce(u.turns, 0)::bigint, coalesce(u.errors, 0)::bigint
        from (
            select n::date as first, least(n::date + length - 1, last_day) as last
            from generate_series(first_day::timestamp, last_day::timestamp, make_interval(days => length)) as n) d
        left join activity a on not is_weeks and a.day = d.first
        left join week w on w.first = d.first
        left join lateral (select b.weekly, b.monthly from activity b where b.day <= d.last order by b.day desc limit 1) before on true
        left join usage u on u.first = d.first
        order by 1;
end $$;

-- Accounts by the week (UTC, from Monday) of their first message, and how many of them wrote in each week from then on. Cohorts of the period.
create function operator.retention(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (cohort timestamptz, week bigint, users bigint, cohort_users bigint, share numeric)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, '{}', grain, tz);
    return query
        select r.cohort::timestamp at time zone 'UTC', ((r.week - r.cohort) / 7)::bigint, r.accounts, o.accounts,
            round(r.accounts::numeric / o.accounts, 4)
        from gateway.retention_weeks r
        join gateway.retention_weeks o on o.cohort = r.cohort and o.week = r.cohort
        where r.accounts > 0 and o.accounts > 0 and r.cohort >= date_trunc('week', starts at time zone 'UTC')::date
            and r.cohort < ends at time zone 'UTC'
        order by 1, 2;
end $$;

-- The accounts behind operator.retention with an answer that a provider was paid for, on which days of the week they had one, and how many. of_cohort,
-- of_week: of one cohort, and of one week by its number; NULL: of all. In the order of cohort, week and account, after `after`: {cohort as a date, week,
-- account}. user_id: NULL for a removed user.
--
-- Others are counted there and not listed, and messages are not told: those beside such answers are also fixed texts of a crisis.
create function operator.retention_users(
    starts timestamptz, ends timestamptz, of_cohort timestamptz, of_week bigint, after text[], at_most integer)
    returns table (
        cohort timestamptz, week bigint, account_id uuid, user_id uuid, days text, active_days bigint, turns bigint)
    -- A page reads the first accounts of a week in the order of an index; the planner might read and sort all of them.
    language plpgsql stable security definer set search_path = '' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    last_cohort constant date := after[1]::date;
    last_week constant date := last_cohort + 7 * after[2]::integer;
    last_account constant uuid := after[3]::uuid;
    part gateway.retention_weeks;
    found_rows integer := 0;
    more integer;
begin
    perform operator.require_operator();
    for part in
        select r.* from gateway.retention_weeks r
        where r.accounts > 0 and r.cohort >= date_trunc('week', starts at time zone 'UTC')::date and r.cohort < ends at time zone 'UTC'
            and (of_cohort is null or r.cohort = of_cohort at time zone 'UTC') and (of_week is null or (r.week - r.cohort) / 7 = of_week)
            and (after is null or (r.cohort, r.week) >= (last_cohort, last_week))
        order by r.cohort, r.week
    loop
        -- One after the other, until the page is full.
        return query
            select part.cohort::timestamp at time zone 'UTC', ((part.week - part.cohort) / 7)::bigint, a.id,
                (select u.id from public.users u where u.account_id = a.id), a.days, a.active_days, a.turns
            from (
                select w.account_id as id, d.*
                from gateway.account_weeks w
                cross join lateral (
                    select string_agg(t.day::text, ' ' order by t.day) as days, count(*) as active_days, sum(t.turns)::bigint as turns
                    from gateway.account_days t
                    where t.account_id = w.account_id and t.day >= part.week and t.day < part.week + 7 and t.turns > 0
                    having count(*) > 0) as d
                where w.cohort = part.cohort and w.week = part.week and w.is_active
                    and w.account_id > case when part.cohort = last_cohort and part.week = last_week then last_account else gateway.nobody() end
                order by w.account_id
                limit at_most - found_rows) as a
            order by a.id;
        get diagnostics more = row_count;
        found_rows := found_rows + more;
        exit when found_rows >= at_most;
    end loop;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function
    operator.usage(timestamptz, timestamptz, text[], text, text), operator.retention(timestamptz, timestamptz, text[], text, text),
    operator.retention_users(timestamptz, timestamptz, timestamptz, bigint, text[], integer)
    to coach_gateway;
