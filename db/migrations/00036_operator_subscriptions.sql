-- What operators see of subscriptions, and what they change by hand.

-- A figure (00041) of production purchases. Group: day; without it there is one row for the period. Every bucket until now has a row.
--
-- active, trials: at the end of the bucket, or of the period where it ends within; now for the present bucket. conversions: trials that were first paid
-- for. churned: paid purchases that expired, paused or were refunded; trials_lost: trials that did. unpriced: payments and refunds without a price in
-- US dollars, which the sums lack; all of Google Play's. revenue, refunded and mrr are nanodollars; refunded is positive; mrr: the highest prices of
-- the present periods of the active renewing purchases, each for a month of 365.2425 / 12 days; NULL when none is priced. mrr_unpriced: how many it
-- lacks. Google Play's refunds that end no subscription are not seen. A period longer than 400 days that began before is not seen,
-- except one without end.
--
-- Stripe and Google Play report states, several for one period, and Stripe also payments of the same period. They are counted where a period begins:
-- it ends later than those before, and began later too, or is reported at the earliest a day before the former one ends (the start of Google Play's
-- purchases never changes). Which events are known decides, never the order in which they arrived.
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
        with recursive line as (
            select f.store, f.purchase, f.replaces as earlier, 1 as steps from gateway.billing_figures f where f.replaces is not null
            union
            select l.store, l.purchase, f.replaces, l.steps + 1
            from line l join gateway.billing_figures f on f.store = l.store and f.purchase = l.earlier and f.replaces is not null
            where l.steps < 50
        ), first_name as (
            -- A purchase that replaces another one continues it.
            select distinct on (l.store, l.purchase) l.store, l.purchase, l.earlier from line l order by l.store, l.purchase, l.steps desc
        ), replaced as (
            select f.store, f.replaces as purchase, min(f.occurred_at) as at
            from gateway.billing_figures f where f.replaces is not null group by 1, 2
        ), named as (
            select f.store, f.occurred_at, f.rank, f.event_id, f.kind, f.price_usd, f.period_start, f.period_end, f.renews, f.will_renew,
                f.kind in ('state', 'payment') as is_state, f.kind in ('expiration', 'refund') as may_end,
                coalesce(n.earlier, case when f.kind = 'refund' and f.source = 'stripe' then coalesce(
                    (
                        select p.purchase from gateway.billing_figures p
                        where p.payment = f.payment and p.store = f.store and p.kind = 'payment' limit 1
                    ), (
                        select p.purchase
                        from gateway.billing_figures l join gateway.billing_figures p on p.invoice = l.invoice and p.store = l.store
                        where l.payment = f.payment and l.store = f.store and l.kind = 'payment_link' and p.kind = 'payment' limit 1
                    ), (
                        -- As in the fold (EntitlementFold.onlyRunning): the customer's only one, if no payment of it is known.
                        select min(p.purchase)
                        from gateway.billing_events e
                        join gateway.billing_events o on o.subscriber = e.subscriber
                        join gateway.billing_figures p on p.event_number = o.number
                        where e.source = f.source and e.event_id = f.event_id and p.store = f.store and p.kind <> 'refund'
                        having count(distinct p.purchase) = 1 and count(p.payment) = 0
                    )) end, f.purchase) as purchase
            from gateway.billing_figures f
            left join first_name n on n.store = f.store and n.purchase = f.purchase
            left join replaced r on r.store = f.store and r.purchase = f.purchase
            where f.kind not in ('cancellation', 'payment_link') and f.occurred_at < until
                and (f.occurred_at >= starts - interval '400 days' or f.period_end = 'infinity')
                -- What a store says of a replaced purchase.
                and (r.at is null or f.occurred_at < r.at)
        ), seen as (
            select n.*,
                -- The longest paid period before, and the last begin of one; of trials, the last begin.
                max(n.period_end) filter (where not n.may_end and n.kind <> 'trial' and n.period_end > n.occurred_at) over before as paid_until,
                max(n.period_start) filter (where not n.may_end and n.kind <> 'trial' and n.period_end > n.occurred_at) over before as paid_from,
                count(*) filter (where n.kind = 'trial') over before as trials_before,
                max(n.period_start) filter (where n.kind = 'trial') over before as trial_from,
                lag(n.will_renew) over (
                    partition by n.store, n.purchase, n.will_renew is null order by n.occurred_at, n.rank, n.event_id) as renewed_before,
                -- In the same instant something begins, such as a subscription of Stripe, which is incomplete until its payment.
                coalesce(lead(n.occurred_at) over life = n.occurred_at and not lead(n.may_end) over life, false) as is_overtaken
            from named n
            window life as (partition by n.store, n.purchase order by n.occurred_at, n.rank, n.event_id),
                before as (life rows between unbounded preceding and 1 preceding)
        ), begun as (
            select s.*,
                case s.kind
                    when 'purchase' then true
                    when 'renewal' then true
                    when 'trial' then s.trials_before = 0 or coalesce(s.period_start > s.trial_from, false)
                    else s.is_state and s.period_end > s.occurred_at and (
                        s.paid_until is null or s.period_end > s.paid_until
                            and (coalesce(s.period_start > s.paid_from, false) or s.occurred_at >= s.paid_until - interval '1 day'))
                end as is_begin
            from seen s
        ), numbered as (
            select b.*, count(*) filter (where b.is_begin) over (
                partition by b.store, b.purchase order by b.occurred_at, b.rank, b.event_id rows unbounded preceding) as period
            from begun b
        ), paid as (
            select n.*,
                coalesce(bool_or(n.is_begin and n.kind = 'trial') over period, false) as is_trial,
                bool_or(n.kind = 'payment') over period as has_payment,
                max(n.price_usd) filter (where n.kind in ('purchase', 'renewal', 'payment')) over period as period_price,
                max(case when n.period_end < 'infinity' then n.period_end - n.period_start end)
                    filter (where n.kind in ('purchase', 'renewal', 'payment')) over period as length,
                -- The refund of an earlier period ends nothing.
                n.may_end and not n.is_overtaken and not coalesce(
                    n.kind = 'refund' and n.period_start < max(n.period_start) filter (where n.is_begin) over period, false) as is_end
            from numbered n
            window period as (partition by n.store, n.purchase, n.period)
        ), effective as (
            -- What Stripe reports of a period that was refunded does not begin it anew.
            select p.*, min(p.occurred_at) filter (where p.is_end and p.kind = 'refund') over (
                partition by p.store, p.purchase, p.period) as refunded_at
            from paid p
        ), event as materialized (
            select e.*, case when is_by_day then date_trunc(grain, e.occurred_at, tz) else starts end as in_bucket,
                -- NULL where nothing is known before.
                not lag(e.is_end) over life and lag(e.is_trial) over life as is_after_trial,
                not lag(e.is_end) over life and not lag(e.is_trial) over life as is_after_paid,
                lead(e.occurred_at) over life as next_at
            from (
                select * from effective x
                where x.is_end or not x.may_end and not coalesce(x.is_state and x.occurred_at > x.refunded_at, false)) e
            window life as (partition by e.store, e.purchase order by e.occurred_at, e.rank, e.event_id)
        ), span as (
            select greatest(e.occurred_at, starts) as first, least(e.period_end, e.next_at) as ended_at, e.is_trial,
                e.renews and e.period_end < 'infinity' as is_recurring, e.period_price as price, e.length
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
                count(*) filter (where e.is_begin and e.kind = 'trial') as new_trials,
                count(*) filter (
                    where e.kind = 'purchase' or e.is_state and e.is_begin and e.paid_until is null and e.is_after_trial is not true)
                    as new_purchases,
                count(*) filter (where e.is_begin and e.kind <> 'trial' and e.is_after_trial) as conversions,
                count(*) filter (
                    where (e.kind = 'renewal' or e.is_state and e.is_begin and e.paid_until is not null) and e.is_after_trial is not true)
                    as renewals,
                count(*) filter (where e.will_renew is false and e.renewed_before is not false) as cancellations,
                count(*) filter (where e.is_end and e.is_after_paid) as churned,
                count(*) filter (where e.is_end and e.is_after_trial) as trials_lost,
                count(*) filter (where e.kind = 'state' and e.is_begin and not e.has_payment) as unpriced
            from event e where e.occurred_at >= starts group by e.in_bucket
        ), money as (
            -- Also what the events above leave out, such as the refund of an earlier period.
            select case when is_by_day then date_trunc(grain, f.occurred_at, tz) else starts end as in_bucket,
                count(*) filter (where f.kind = 'cancellation') as cancellations,
                count(*) filter (where f.kind = 'refund') as refunds,
                sum(f.price_usd) filter (where f.kind in ('purchase', 'renewal', 'payment')) as revenue,
                -sum(f.price_usd) filter (where f.kind = 'refund') as refunded,
                count(*) filter (where f.kind in ('purchase', 'renewal', 'payment', 'refund') and f.price_usd is null) as unpriced
            from gateway.billing_figures f
            where f.occurred_at >= starts and f.occurred_at < until
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
            coalesce(f.conversions, 0), coalesce(f.renewals, 0), coalesce(f.cancellations, 0) + coalesce(m.cancellations, 0),
            coalesce(f.churned, 0), coalesce(f.trials_lost, 0), coalesce(m.refunds, 0), coalesce(f.unpriced, 0) + coalesce(m.unpriced, 0),
            t.mrr_unpriced, coalesce(gateway.to_nanodollars(m.revenue), 0), coalesce(gateway.to_nanodollars(m.refunded), 0),
            case when t.mrr_priced > 0 then gateway.to_nanodollars(t.mrr) end
        from total t
        left join flow f on f.in_bucket = t.start
        left join money m on m.in_bucket = t.start
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
