-- What operators see of subscriptions, and what they change by hand.

-- A figure (00041) of production purchases. Group: day; without it there is one row for the period. Every bucket until now has a row.
--
-- active, trials: at the end of the bucket, or of the period where it ends within; now for the present bucket. conversions: trials that were first paid
-- for. churned: paid purchases that expired, paused or were refunded; trials_lost: trials that did. unpriced: payments and refunds without a price in
-- US dollars, which the sums lack. revenue, refunded and mrr are nanodollars; refunded is positive; mrr: prices of the active renewing purchases, each
-- for a month of 365.2425 / 12 days; NULL when none is priced. mrr_unpriced: how many it lacks. A period longer than 400 days that began before is not
-- seen, except one without end.
create function operator.subscriptions(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, active bigint, trials bigint, new_trials bigint, new_purchases bigint, conversions bigint, renewals bigint,
        cancellations bigint, churned bigint, trials_lost bigint, refunds bigint, unpriced bigint, mrr_unpriced bigint, revenue bigint,
        refunded bigint, mrr bigint)
    language plpgsql stable security definer set search_path = '' as $$
declare
    is_by_day constant boolean := 'day' = any (group_by);
    until constant timestamptz := least(ends, now());
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day'], grain, tz);
    return query
        with event as materialized (
            select f.*, case when is_by_day then date_trunc(grain, f.occurred_at, tz) else starts end as in_bucket,
                f.kind in ('expiration', 'refund') as is_end,
                lag(f.kind) over life as kind_before, lag(f.price_usd) over life as price_before,
                lag(f.period_start) over life as start_before, lag(f.period_end) over life as end_before,
                lead(f.occurred_at) over life as next_at
            from gateway.billing_figures f
            where f.kind <> 'cancellation' and f.occurred_at < until
                and (f.occurred_at >= starts - interval '400 days' or f.period_end = 'infinity')
            window life as (partition by f.store, f.purchase order by f.occurred_at, f.event_id)
        ), span as (
            -- An extension continues what it extends.
            select greatest(e.occurred_at, starts) as first, least(e.period_end, e.next_at) as ended_at,
                e.kind = 'trial' or e.kind = 'extension' and e.kind_before = 'trial' as is_trial,
                e.renews and e.period_end < 'infinity' as is_recurring,
                case e.kind when 'extension' then e.price_before else e.price_usd end as price,
                case e.kind when 'extension' then e.end_before - e.start_before else e.period_end - e.period_start end as length
            from event e
            where not e.is_end and e.period_end is not null
        ), change as (
            select s.first as at, 1 as sign, s.* from span s where s.ended_at > s.first
            union all
            select s.ended_at, -1, s.* from span s where s.ended_at > s.first and s.ended_at < until
        ), stock as (
            select case when is_by_day then date_trunc(grain, c.at, tz) else starts end as in_bucket,
                sum(c.sign) filter (where not c.is_trial) as active, sum(c.sign) filter (where c.is_trial) as trials,
                sum(c.sign * c.price * 30.436875 * 86400 / nullif(extract(epoch from c.length), 0))
                    filter (where not c.is_trial and c.is_recurring) as mrr,
                sum(c.sign) filter (where not c.is_trial and c.is_recurring and (c.price is null or c.length is null)) as mrr_unpriced,
                sum(c.sign) filter (where not c.is_trial and c.is_recurring and c.price is not null and c.length is not null) as mrr_priced
            from change c group by 1
        ), flow as (
            select e.in_bucket,
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
            from event e where e.occurred_at >= starts group by e.in_bucket
        ), cancelled as (
            select case when is_by_day then date_trunc(grain, f.occurred_at, tz) else starts end as in_bucket, count(*) as cancellations
            from gateway.billing_figures f
            where f.kind = 'cancellation' and f.occurred_at >= starts and f.occurred_at < until
            group by 1
        ), instant as (
            -- One in each bucket at least: an hour of a time zone is never shorter than the half hour by which a clock may be set forward.
            select n as at
            from generate_series(starts, until, case grain when 'hour' then interval '30 minutes' else interval '12 hours' end) as n
            where n < until
            union all
            select until - interval '1 microsecond' where starts < until
        ), period as (
            select distinct case when is_by_day then date_trunc(grain, i.at, tz) else starts end as start from instant i
        ), total as (
            select p.start, coalesce(sum(s.active) over so_far, 0)::bigint as active,
                coalesce(sum(s.trials) over so_far, 0)::bigint as trials, sum(s.mrr) over so_far as mrr,
                coalesce(sum(s.mrr_unpriced) over so_far, 0)::bigint as mrr_unpriced,
                coalesce(sum(s.mrr_priced) over so_far, 0)::bigint as mrr_priced
            from period p
            left join stock s on s.in_bucket = p.start
            window so_far as (order by p.start)
        )
        select case when is_by_day then t.start end, t.active, t.trials, coalesce(f.new_trials, 0), coalesce(f.new_purchases, 0),
            coalesce(f.conversions, 0), coalesce(f.renewals, 0), coalesce(c.cancellations, 0), coalesce(f.churned, 0),
            coalesce(f.trials_lost, 0), coalesce(f.refunds, 0), coalesce(f.unpriced, 0), t.mrr_unpriced,
            coalesce(gateway.to_nanodollars(f.revenue), 0), coalesce(gateway.to_nanodollars(f.refunded), 0),
            case when t.mrr_priced > 0 then gateway.to_nanodollars(t.mrr) end
        from total t
        left join flow f on f.in_bucket = t.start
        left join cancelled c on c.in_bucket = t.start
        order by t.start;
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
    operator.subscriptions(timestamptz, timestamptz, text[], text, text),
    operator.change_subscription(
        uuid, text, text, text, text, text, text, bytea, text, text[], bigint[], integer[], integer, text, jsonb, jsonb, jsonb)
    to coach_gateway;
