-- An operator reads the same cost of today for a user here and in operator.user_costs. The budget also has the judge's calls: their difference showed which
-- users had sent messages that were shown to the judge (CONTRACT §5).

-- As 00028 has it, but for the cost and the turns without a price.
create or replace function operator.user_status(user_id uuid)
    returns table (
        created_at timestamptz, suspended_at timestamptz, suspended_reason text, entitlements text[], access_until timestamptz,
        last_turn_at timestamptz, running_turns bigint, messages_today integer, spent_today_usd numeric, unpriced_turns_today integer)
    language plpgsql stable security definer set search_path = '' as $$
declare
    today constant date := now() at time zone 'UTC';
begin
    perform operator.require_operator();
    return query
        select u.created_at, u.suspended_at, u.suspended_reason, e.names, e.until,
            (select max(c.last_message_at) from public.conversations c where c.user_id = $1),
            (select count(*) from gateway.running_turns r where r.user_id = $1),
            case when r.day = today then r.messages else 0 end,
            coalesce(gateway.to_usd(d.cost_nanodollars), 0), coalesce(d.unpriced_turns, 0)::integer
        from public.users u
        cross join lateral (
            select coalesce(array_agg(distinct n.entitlement order by n.entitlement), '{}') as names, max(n.access_until) as until
            from gateway.user_entitlements n where n.user_id = u.id and n.access_until > now()) e
        left join public.rate_limits r on r.user_id = u.id
        left join gateway.account_days d on d.account_id = u.account_id and d.day = today
        where u.id = $1;
end $$;
