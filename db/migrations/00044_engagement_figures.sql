-- Figures of engagement: who uses the coach, how much, and who comes back. Their arguments are those of all figures.

-- A row for each UTC day of the period, none in the future. messages: of users, whose turn ended. turns: those with a receipt. weekly and monthly:
-- accounts with a message within 7 and 30 days, this one included.
create function operator.usage(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, active_users bigint, weekly_active_users bigint, monthly_active_users bigint, conversations bigint,
        messages bigint, messages_per_conversation numeric, turns bigint, errors bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    first_day constant date := starts at time zone 'UTC';
    last_day constant date := least((ends - interval '1 microsecond') at time zone 'UTC', now() at time zone 'UTC');
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day'], grain, tz);
    return query
        with usage as materialized (
            select u.day, sum(u.messages) as messages, sum(u.turns) as turns, sum(u.errors) as errors from gateway.usage_days u
            where u.day between first_day and last_day group by u.day
        ), activity as materialized (
            select a.day, a.active, a.conversations, sum(a.weekly_change) over so_far as weekly, sum(a.monthly_change) over so_far as monthly
            from gateway.activity_days a window so_far as (order by a.day)
        )
        select d.day::timestamp at time zone 'UTC', coalesce(a.active, 0), coalesce(before.weekly, 0)::bigint,
            coalesce(before.monthly, 0)::bigint, coalesce(a.conversations, 0), coalesce(u.messages, 0)::bigint,
            round(u.messages / nullif(a.conversations, 0), 2), coalesce(u.turns, 0)::bigint, coalesce(u.errors, 0)::bigint
        from (select n::date as day from generate_series(first_day::timestamp, last_day::timestamp, interval '1 day') as n) d
        left join activity a on a.day = d.day
        left join lateral (select b.weekly, b.monthly from activity b where b.day <= d.day order by b.day desc limit 1) before on true
        left join usage u on u.day = d.day
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

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function
    operator.usage(timestamptz, timestamptz, text[], text, text), operator.retention(timestamptz, timestamptz, text[], text, text)
    to coach_gateway;
