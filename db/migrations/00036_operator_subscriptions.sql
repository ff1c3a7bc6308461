-- What operators see of subscriptions, and what they change by hand.

-- Figures by day (UTC) from `first_day` to `last_day`, both included and none in the future, of production purchases.
--
-- active, trials: at the end of the day, for today now. conversions: trials that were first paid for. churned: paid purchases that expired, paused or
-- were refunded; trials_lost: trials that did. refunded_usd: the sum of refunds, positive. unpriced: payments and refunds without a price in US
-- dollars, which the sums lack. mrr_usd: prices of the active renewing purchases, each for a month of 365.2425 / 12 days; NULL when none is priced.
-- mrr_unpriced: how many it lacks. A period longer than 400 days that began before is not seen, except one without end.
create function operator.subscriptions(first_day date, last_day date)
    returns table (
        day date, active bigint, trials bigint, new_trials bigint, new_purchases bigint, conversions bigint, renewals bigint,
        cancellations bigint, churned bigint, trials_lost bigint, refunds bigint, revenue_usd numeric, refunded_usd numeric, unpriced bigint,
        mrr_usd numeric, mrr_unpriced bigint)
    language plpgsql stable security definer set search_path = '' as $$
declare
    today constant date := now() at time zone 'UTC';
    latest constant date := least(last_day, today);
begin
    perform operator.require_operator();
    return query
        with event as materialized (
            select f.*, (f.occurred_at at time zone 'UTC')::date as on_day,
                f.kind in ('expiration', 'refund') as is_end,
                lag(f.kind) over life as kind_before, lag(f.price_usd) over life as price_before,
                lag(f.period_start) over life as start_before, lag(f.period_end) over life as end_before,
                lead(f.occurred_at) over life as next_at
            from gateway.billing_figures f
            where f.kind <> 'cancellation' and f.occurred_at < (latest + 1)::timestamp at time zone 'UTC'
                and (f.occurred_at >= (first_day - 400)::timestamp at time zone 'UTC' or f.period_end = 'infinity')
            window life as (partition by f.store, f.purchase order by f.occurred_at, f.event_id)
        ), span as (
            -- An extension continues what it extends.
            select on_day as first,
                case when least(e.period_end, e.next_at) > now() then today
                    else (least(e.period_end, e.next_at) at time zone 'UTC')::date - 1 end as last,
                e.kind = 'trial' or e.kind = 'extension' and e.kind_before = 'trial' as is_trial,
                e.renews and e.period_end < 'infinity' as is_recurring,
                case e.kind when 'extension' then e.price_before else e.price_usd end as price,
                case e.kind when 'extension' then e.end_before - e.start_before else e.period_end - e.period_start end as length
            from event e
            where not e.is_end and e.period_end is not null
        ), change as (
            select greatest(s.first, first_day) as on_day, 1 as sign, s.* from span s where s.last >= s.first and s.last >= first_day
            union all
            select s.last + 1, -1, s.* from span s where s.last >= s.first and s.last >= first_day
        ), stock as (
            select c.on_day,
                sum(c.sign) filter (where not c.is_trial) as active, sum(c.sign) filter (where c.is_trial) as trials,
                sum(c.sign * c.price * 30.436875 * 86400 / nullif(extract(epoch from c.length), 0))
                    filter (where not c.is_trial and c.is_recurring) as mrr,
                sum(c.sign) filter (where not c.is_trial and c.is_recurring and (c.price is null or c.length is null)) as mrr_unpriced,
                sum(c.sign) filter (where not c.is_trial and c.is_recurring and c.price is not null and c.length is not null) as mrr_priced
            from change c group by c.on_day
        ), flow as (
            select e.on_day,
                count(*) filter (where e.kind = 'trial') as new_trials,
                count(*) filter (where e.kind = 'purchase') as new_purchases,
                count(*) filter (where e.kind in ('purchase', 'renewal') and e.kind_before = 'trial') as conversions,
                count(*) filter (where e.kind = 'renewal' and e.kind_before is distinct from 'trial') as renewals,
                count(*) filter (where e.is_end and coalesce(e.kind_before, '') not in ('trial', 'expiration', 'refund')) as churned,
                count(*) filter (where e.is_end and e.kind_before = 'trial') as trials_lost,
                count(*) filter (where e.kind = 'refund') as refunds,
                sum(e.price_usd) filter (where e.kind in ('purchase', 'renewal')) as revenue,
                -sum(e.price_usd) filter (where e.kind = 'refund') as refunded,
                count(*) filter (where e.kind in ('purchase', 'renewal', 'refund') and e.price_usd is null) as unpriced
            from event e where e.on_day >= first_day group by e.on_day
        ), cancelled as (
            select (f.occurred_at at time zone 'UTC')::date as on_day, count(*) as cancellations
            from gateway.billing_figures f
            where f.kind = 'cancellation' and f.occurred_at >= first_day::timestamp at time zone 'UTC'
                and f.occurred_at < (latest + 1)::timestamp at time zone 'UTC'
            group by 1
        ), total as (
            select d.day::date as day, coalesce(sum(s.active) over so_far, 0)::bigint as active,
                coalesce(sum(s.trials) over so_far, 0)::bigint as trials, sum(s.mrr) over so_far as mrr,
                coalesce(sum(s.mrr_unpriced) over so_far, 0)::bigint as mrr_unpriced,
                coalesce(sum(s.mrr_priced) over so_far, 0)::bigint as mrr_priced
            from generate_series(first_day::timestamp, latest::timestamp, interval '1 day') as d (day)
            left join stock s on s.on_day = d.day::date
            window so_far as (order by d.day)
        )
        select t.day, t.active, t.trials, coalesce(f.new_trials, 0), coalesce(f.new_purchases, 0), coalesce(f.conversions, 0),
            coalesce(f.renewals, 0), coalesce(c.cancellations, 0), coalesce(f.churned, 0), coalesce(f.trials_lost, 0),
            coalesce(f.refunds, 0), coalesce(f.revenue, 0), coalesce(f.refunded, 0), coalesce(f.unpriced, 0),
            case when t.mrr_priced > 0 then round(t.mrr, 9) end, t.mrr_unpriced
        from total t
        left join flow f on f.on_day = t.day
        left join cancelled c on c.on_day = t.day
        order by t.day;
end $$;

-- Stores a grant or revocation by hand, an event of source `operator` as gateway.fold_billing_event takes it; `type` is the action in the audit log.
-- False without effect when there is no such user.
create function operator.change_subscription(
    user_id uuid, reason text, request_id text, source text, event_id text, type text, environment text, body bytea, event text, ids text[],
    subscribers bigint[], revisions integer[], fold_version integer, state text, states jsonb, figures jsonb, jobs jsonb) returns boolean
    language plpgsql security definer set search_path = '' as $$
declare
    account uuid;
begin
    perform operator.require_operator();
    if source <> 'operator' then
        raise exception 'an event of another sender' using errcode = 'invalid_parameter_value';
    end if;
    select u.account_id into account from public.users u where u.id = $1;
    if not found then
        return false;
    end if;
    if gateway.fold_billing_event($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) then
        perform gateway.append_audit($6, 'account/' || account, null, null, $2, $3);
    end if;
    return true;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function
    operator.subscriptions(date, date),
    operator.change_subscription(
        uuid, text, text, text, text, text, text, bytea, text, text[], bigint[], integer[], integer, text, jsonb, jsonb, jsonb)
    to coach_gateway;
