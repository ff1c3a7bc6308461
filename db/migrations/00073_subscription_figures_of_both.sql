-- Figures of subscriptions: a purchase of which RevenueCat and its store both tell counts once, a purchase within a paid period is a renewal, and a
-- reversed refund is taken back.
--
-- New kind of gateway.billing_figures: refund_reversal, which was `extension` before. It takes back the newest refund of its purchase, whatever its own
-- price, at its own time: refunds and refunded, and unpriced if the refund had no price. If the purchase is active again, churned or trials_lost too.

-- What purchases change, by instant, computed from their figures alone. All linked ones must be among them.
--
-- From a day before RevenueCat's first event of a purchase until a day after its last, the store's own events of it do not count, also where RevenueCat
-- sends none, such as of the refund of an earlier period. Only an equal store and purchase is the same: at the App Store both name the original
-- transaction. Not merged are Google Play's purchase tokens with RevenueCat's order ids, the Mac App Store (a store of its own at RevenueCat), and
-- Stripe's subscriptions where RevenueCat names something else: if both senders of these are folded, they count twice.
--
-- Stripe and Google Play report states, several for one period, and Stripe also payments of the same period. They are counted where a period begins:
-- it ends later than those before, and began later too, or is reported at the earliest a day before the former one ends (the start of Google Play's
-- purchases never changes). Which events are known decides, never the order in which they arrived.
create or replace function gateway.purchase_changes(stores text[], purchases text[]) returns setof gateway.subscription_changes
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return query
        with recursive stored as materialized (
            select f.*, case when f.kind = 'refund' and f.source = 'stripe' then coalesce(
                    (
                        select min(p.purchase) from gateway.billing_figures p
                        where p.payment = f.payment and p.store = f.store and p.kind = 'payment'
                    ), (
                        select min(p.purchase)
                        from gateway.billing_figures l join gateway.billing_figures p on p.invoice = l.invoice and p.store = l.store
                        where l.payment = f.payment and l.store = f.store and l.kind = 'payment_link' and p.kind = 'payment'
                    ), (
                        -- As in the fold (EntitlementFold.onlyRunning): the customer's only one, if no payment of it is known.
                        select min(p.purchase)
                        from gateway.billing_events e
                        join gateway.billing_events o on o.subscriber = e.subscriber
                        join gateway.billing_figures p on p.event_number = o.number
                        where e.source = f.source and e.event_id = f.event_id and p.store = f.store and p.kind <> 'refund'
                        having count(distinct p.purchase) = 1 and count(p.payment) = 0
                    )) end as refunded_purchase
            from unnest(stores, purchases) as n (store, purchase)
            join gateway.billing_figures f on f.purchase = n.purchase and f.store = n.store
        ), figure as materialized (
            select s.* from stored s
            where s.source = 'revenuecat' or not (
                select coalesce(bool_or(r.occurred_at <= s.occurred_at + interval '1 day') and bool_or(r.occurred_at >= s.occurred_at - interval '1 day'),
                    false)
                from gateway.billing_figures r
                where r.purchase = coalesce(s.refunded_purchase, s.purchase) and r.store = s.store and r.source = 'revenuecat')
        ), line as (
            select f.store, f.purchase, f.replaces as earlier, 1 as steps from figure f where f.replaces is not null
            union
            select l.store, l.purchase, f.replaces, l.steps + 1
            from line l join figure f on f.store = l.store and f.purchase = l.earlier and f.replaces is not null
            where l.steps < 50
        ), first_name as (
            -- A purchase that replaces another one continues it.
            select distinct on (l.store, l.purchase) l.store, l.purchase, l.earlier from line l order by l.store, l.purchase, l.steps desc, l.earlier
        ), replaced as (
            select f.store, f.replaces as purchase, min(f.occurred_at) as at from figure f where f.replaces is not null group by 1, 2
        ), named as (
            select f.store, f.occurred_at, f.rank, f.event_id, f.kind, f.price_usd, f.period_start, f.period_end, f.renews, f.will_renew,
                f.kind in ('state', 'refunded_state', 'payment') as is_state, f.kind in ('expiration', 'refund') as may_end,
                coalesce(n.earlier, f.refunded_purchase, f.purchase) as purchase
            from figure f
            left join first_name n on n.store = f.store and n.purchase = f.purchase
            left join replaced r on r.store = f.store and r.purchase = f.purchase
            where f.kind not in ('cancellation', 'payment_link')
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
                -- What a reversed refund gives back may be without an end, which its event does not say.
                case when s.kind = 'refund_reversal' then coalesce(s.period_end, s.paid_until) else s.period_end end as until,
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
                    n.kind = 'refund' and n.period_start < max(n.period_start) filter (where n.is_begin) over period, false) as is_end,
                -- Its reversal gives nothing back, nor does that of a period that would be over by now.
                n.kind = 'refund_reversal' and (
                    not coalesce(n.until > n.occurred_at, false)
                    or coalesce(n.period_start < max(n.period_start) filter (where n.is_begin) over period, false)) as is_late_reversal
            from numbered n
            window period as (partition by n.store, n.purchase, n.period)
        ), effective as (
            -- What Stripe reports of a period that was refunded does not begin it anew.
            select p.*, min(p.occurred_at) filter (where p.is_end and p.kind = 'refund') over (
                partition by p.store, p.purchase, p.period) as refunded_at
            from paid p
        ), event as materialized (
            select e.*,
                -- NULL where nothing is known before.
                not lag(e.is_end) over life and lag(e.is_trial) over life as is_after_trial,
                not lag(e.is_end) over life and not lag(e.is_trial) over life as is_after_paid,
                -- Whether a reversed refund gives back a trial. NULL: it gives back nothing, or what was not counted as lost.
                case when e.kind = 'refund_reversal' and lag(e.is_end) over life and count(*) filter (where not e.is_end) over before > 0
                    then lag(e.is_trial) over life end as is_trial_back,
                lead(e.occurred_at) over life as next_at
            from (
                select * from effective x
                where x.is_end
                    or not x.may_end and not x.is_late_reversal and not coalesce(x.is_state and x.occurred_at > x.refunded_at, false)) e
            window life as (partition by e.store, e.purchase order by e.occurred_at, e.rank, e.event_id),
                before as (life rows between unbounded preceding and 1 preceding)
        ), span as (
            select e.store, e.purchase, e.occurred_at as first, least(e.until, e.next_at) as ended_at, e.is_trial,
                e.renews and e.until < 'infinity' and not e.is_trial as is_recurring,
                e.period_price * 30.436875 * 86400 / nullif(extract(epoch from e.length), 0) as monthly
            from event e
            where not e.is_end and e.until is not null
        ), stock as (
            select s.store, s.purchase, c.at, (not s.is_trial)::integer * c.sign as active, s.is_trial::integer * c.sign as trials,
                case when s.is_recurring then s.monthly * c.sign end as mrr,
                (s.is_recurring and s.monthly is not null)::integer * c.sign as mrr_priced,
                (s.is_recurring and s.monthly is null)::integer * c.sign as mrr_unpriced
            from span s cross join lateral (values (s.first, 1), (s.ended_at, -1)) as c (at, sign)
            where s.ended_at > s.first and c.at < 'infinity'
        ), flow as (
            select e.store, e.purchase, e.occurred_at as at,
                (e.is_begin and e.kind = 'trial')::integer as new_trials,
                ((e.kind = 'purchase' and e.is_after_paid is not true or e.is_state and e.is_begin and e.paid_until is null)
                    and e.is_after_trial is not true)::integer as new_purchases,
                (e.is_begin and e.kind <> 'trial' and e.is_after_trial is true)::integer as conversions,
                -- A purchase before an event has ended the former one, such as an upgrade at the App Store, continues it: it would be new twice and
                -- lost once.
                ((
                    e.kind = 'renewal' or e.kind = 'purchase' and e.is_after_paid is true
                    or e.is_state and e.is_begin and e.paid_until is not null) and e.is_after_trial is not true)::integer as renewals,
                (e.will_renew is false and e.renewed_before is not false)::integer as cancellations,
                (e.is_end and e.is_after_paid is true)::integer - (e.is_trial_back is false)::integer as churned,
                (e.is_end and e.is_after_trial is true)::integer - (e.is_trial_back is true)::integer as trials_lost,
                (e.kind in ('state', 'refunded_state') and e.is_begin and not e.has_payment)::integer as unpriced
            from event e
        ), refund_level as (
            -- How many refunds are not taken back: after a refund, before a reversal.
            select f.store, f.purchase, f.occurred_at, f.rank, f.event_id, f.kind, f.price_usd,
                sum(case f.kind when 'refund' then 1 else -1 end) over life + (f.kind = 'refund_reversal')::integer as level
            from figure f where f.kind in ('refund', 'refund_reversal')
            window life as (partition by f.store, f.purchase order by f.occurred_at, f.rank, f.event_id)
        ), reversal as (
            -- With the price of the newest refund before that is not taken back yet: the one before it of the same level.
            select r.store, r.purchase, r.occurred_at, r.refund_price
            from (
                select l.*, lag(l.kind) over same as kind_before, lag(l.price_usd) over same as refund_price
                from refund_level l window same as (partition by l.store, l.purchase, l.level order by l.occurred_at, l.rank, l.event_id)) r
            where r.kind = 'refund_reversal' and r.kind_before = 'refund'
        ), money as (
            -- Also what the events above leave out, such as the refund of an earlier period.
            select f.store, f.purchase, f.occurred_at as at, (f.kind = 'cancellation')::integer as cancellations,
                (f.kind in ('refund', 'refunded_state'))::integer as refunds,
                (f.kind in ('purchase', 'renewal', 'payment', 'refund', 'refunded_state') and f.price_usd is null)::integer as unpriced,
                case when f.kind in ('purchase', 'renewal', 'payment') then f.price_usd end as revenue,
                case when f.kind = 'refund' then -f.price_usd end as refunded
            from figure f
            union all
            -- Taken back when it is reversed: figures of a time that is over stay what they were.
            select r.store, r.purchase, r.occurred_at, 0, -1, -(r.refund_price is null)::integer, null, r.refund_price from reversal r
        ), change as (
            select s.*, 0 as new_trials, 0 as new_purchases, 0 as conversions, 0 as renewals, 0 as cancellations, 0 as churned,
                0 as trials_lost, 0 as refunds, 0 as unpriced, null::numeric as revenue, null::numeric as refunded
            from stock s
            union all
            select f.store, f.purchase, f.at, 0, 0, null, 0, 0, f.new_trials, f.new_purchases, f.conversions, f.renewals, f.cancellations,
                f.churned, f.trials_lost, 0, f.unpriced, null, null
            from flow f
            union all
            select m.store, m.purchase, m.at, 0, 0, null, 0, 0, 0, 0, 0, 0, m.cancellations, 0, 0, m.refunds, m.unpriced, m.revenue, m.refunded
            from money m
        )
        select c.store, c.purchase, c.at, nullif(sum(c.active), 0), nullif(sum(c.trials), 0), nullif(sum(c.mrr), 0),
            nullif(sum(c.mrr_priced), 0), nullif(sum(c.mrr_unpriced), 0), nullif(sum(c.new_trials), 0), nullif(sum(c.new_purchases), 0),
            nullif(sum(c.conversions), 0), nullif(sum(c.renewals), 0), nullif(sum(c.cancellations), 0), nullif(sum(c.churned), 0),
            nullif(sum(c.trials_lost), 0), nullif(sum(c.refunds), 0), nullif(sum(c.unpriced), 0), nullif(sum(c.revenue), 0),
            nullif(sum(c.refunded), 0)
        from change c group by c.store, c.purchase, c.at;
end $$;

-- What is different now in the rollup is folded again, each purchase by one of its events.
with reversal as (
    update gateway.billing_figures f set kind = 'refund_reversal'
    from gateway.billing_events e
    where f.kind = 'extension' and e.source = f.source and e.event_id = f.event_id and e.type = 'REFUND_REVERSED'
    returning f.event_number
), changed as (
    select r.event_number from reversal r
    union
    select min(f.event_number) from gateway.billing_figures f group by f.store, f.purchase
    having bool_or(f.source = 'revenuecat') and bool_or(f.source <> 'revenuecat')
        or count(*) filter (where f.kind = 'purchase') > 1
        or max(f.occurred_at) filter (where f.kind = 'purchase') > min(f.occurred_at) filter (where f.kind not in ('cancellation', 'payment_link'))
    union
    -- Refunds of Stripe name the payment alone, and may be of a purchase of which only RevenueCat has told.
    select f.event_number
    from gateway.billing_figures f join gateway.billing_events e on e.source = f.source and e.event_id = f.event_id
    where f.kind = 'refund' and f.source = 'stripe' and exists (
        select from gateway.billing_events o join gateway.billing_figures p on p.event_number = o.number
        where o.subscriber = e.subscriber and p.source = 'revenuecat' and p.store = f.store)
)
insert into gateway.unfolded_figures (event_number) select c.event_number from changed c;
