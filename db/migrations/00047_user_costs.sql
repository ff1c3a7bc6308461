-- Tokens and cost by user and other groups: rows like those of operator.costs, a page of them. There may be one for every user, so only those of the
-- page are summed up: `at_most` rows in the order of day and user, then of the other keys, after the row of `after`: its {day, model, provider, domain,
-- persona_id, user_id, tier}, the day in microseconds since 1970, each NULL as in that row; NULL: from the first row. Turns of removed users and calls
-- of the judge have no user_id, and come after those of users. users: these users alone, NULL among them for rows without one; NULL: all.
create function operator.user_costs(
    starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, at_most bigint, after text[], users uuid[] default null)
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set jit = off as $$
declare
    former constant timestamptz := timestamptz 'epoch' + after[1]::bigint * interval '1 microsecond';
    keys constant text[] := array_replace(array_remove(array_remove(group_by, 'day'), 'user'), 'persona', 'persona_id');
    columns constant text := (
        select string_agg(format(case when k.key = any (keys) then 'd.%1$I' else 'null::%2$s as %1$I' end, k.key, k.type), ', ')
        from unnest(
            array['model', 'provider', 'domain', 'persona_id', 'tier'], array['text', 'text', 'public.coaching_domain', 'uuid', 'text']) as k (key, type));
    -- Texts in the order of bytes; NULL after all others.
    ranks constant text := (
        select string_agg(format('coalesce(k.%I::text, chr(1114111)) collate "C"', k), ', ')
        from unnest(array['model', 'provider', 'domain', 'persona_id', 'tier']) as k);
    -- %s: a condition. Without other keys there is a rollup with fewer rows. One account after the other, where the planner would read those of all.
    sums constant text := format(
        $sql$select %s, sum(d.turns)::bigint as turns,
            case when sum(d.input_known) > 0 then sum(d.input_tokens) end::bigint as input_tokens,
            case when sum(d.cached_input_known) > 0 then sum(d.cached_input_tokens) end::bigint as cached_input_tokens,
            case when sum(d.output_known) > 0 then sum(d.output_tokens) end::bigint as output_tokens,
            case when sum(d.priced_calls) > 0 then sum(d.cost_nanodollars) end::bigint as cost,
            sum(d.unpriced_turns)::bigint as unpriced_turns
        from gateway.%I d where d.day between $2 and $3 and %%s %s having sum(d.calls) > 0$sql$,
        columns, case when keys = '{}' then 'account_days' else 'account_usage_days' end,
        (select 'group by ' || string_agg(format('d.%I', k), ', ') from unnest(keys) as k having count(*) > 0));
    -- $1 to $7: bucket, its first and last day, the user and the keys of the row before, the number of rows, users. %s: the user, and of what.
    query constant text := format(
        $sql$select $1, k.model, k.provider, k.domain, k.persona_id, %%s, k.tier, k.turns, k.input_tokens, k.cached_input_tokens, k.output_tokens,
            k.cost, k.unpriced_turns
        from %%s as k
        where $5 is null or %%s
            or (%1$s) > (coalesce($5[2], chr(1114111)), coalesce($5[3], chr(1114111)), coalesce($5[4], chr(1114111)),
                coalesce($5[5], chr(1114111)), coalesce($5[7], chr(1114111)))
        order by 6, %1$s limit $6$sql$, ranks);
    of_users constant text := format(query, 'p.id', $sql$(
        select u.id, u.account_id from public.users u
        where ($4 is null or u.id >= $4) and ($7 is null or u.id = any ($7)) and exists (
            select from gateway.account_days d where d.account_id = u.account_id and d.day between $2 and $3 and d.calls > 0)
        order by u.id
        limit $6 + 1) as p
        cross join lateral ($sql$ || format(sums, 'd.account_id = p.account_id') || ')', 'p.id <> $4');
    others constant text := format(
        query, 'null::uuid', '(' || format(sums, 'not exists (select from public.users u where u.account_id = d.account_id)') || ')', 'false');
    missing bigint := at_most;
    -- The row before the page, where it is in the bucket.
    previous text[];
    part record;
    returned bigint;
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'model', 'provider', 'domain', 'persona', 'user', 'tier'], grain, tz);
    for part in
        select b.bucket, min(b.day) as first, max(b.day) as last
        from (
            select t::date as day, case when 'day' = any (group_by) then date_trunc(grain, t at time zone 'UTC', 'UTC') end as bucket
            from generate_series(
                date_trunc('day', starts at time zone 'UTC'), ends at time zone 'UTC' - interval '1 microsecond', interval '1 day') as t) as b
        where former is null or b.bucket >= former
        group by b.bucket
        order by b.bucket
    loop
        previous := case when part.bucket is not distinct from former then after end;
        if previous is null or previous[6] is not null then
            return query execute of_users using part.bucket, part.first, part.last, previous[6]::uuid, previous, missing, users;
            get diagnostics returned = row_count;
            missing := missing - returned;
            exit when missing <= 0;
            previous := null;
        end if;
        continue when users is not null and array_position(users, null) is null;
        return query execute others using part.bucket, part.first, part.last, null::uuid, previous, missing;
        get diagnostics returned = row_count;
        missing := missing - returned;
        exit when missing <= 0;
    end loop;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function operator.user_costs(timestamptz, timestamptz, text[], text, text, bigint, text[], uuid[]) to coach_gateway;
