-- The rollup of billing figures that operators' figures of subscriptions are read from: sums by quarter of an hour and by UTC day. It is folded outside
-- the intake, by one instance at a time, so that no row of it is a hot one. What a purchase's figures add up to is kept beside it: when another event
-- of the purchase is stored, the difference is added.

-- What a purchase changes at an instant. NULL: nothing. Tables are made like this one, which stays empty.
create table gateway.subscription_figures (
    -- Changes of how many there are.
    active bigint,
    trials bigint,
    -- US dollars a month, of the active renewing purchases with a price and a length, of which there are mrr_priced; mrr_unpriced: the others.
    mrr numeric,
    mrr_priced bigint,
    mrr_unpriced bigint,
    -- What happened.
    new_trials bigint,
    new_purchases bigint,
    conversions bigint,
    renewals bigint,
    cancellations bigint,
    churned bigint,
    trials_lost bigint,
    refunds bigint,
    unpriced bigint,
    -- US dollars; refunded is positive.
    revenue numeric,
    refunded numeric
);

create table gateway.subscription_changes (store text not null, purchase text not null, at timestamptz not null, like gateway.subscription_figures);
create index idx_subscription_changes_purchase on gateway.subscription_changes (purchase, store);
-- The quarter of an hour that has not ended is read from here.
create index idx_subscription_changes_at on gateway.subscription_changes (at);

create table gateway.subscription_rollup (
    is_day boolean not null, bucket timestamptz not null, like gateway.subscription_figures, primary key (is_day, bucket)) with (fillfactor = 80);

-- Figures that are not in the rollup yet, or whose purchase may have become another one. A number can be here twice, or name no figure.
create table gateway.unfolded_figures (event_number bigint not null, queued_at timestamptz not null default clock_timestamp());

create index idx_billing_figures_purchase on gateway.billing_figures (purchase, store);

-- The figures of these purchases and of all that depend on them: replaced ones, and those that a payment, an invoice or a customer of Stripe connects.
create function gateway.linked_purchases(numbers bigint[], out stores text[], out purchases text[])
    language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
    with recursive linked as (
        select f.store, f.purchase from gateway.billing_figures f where f.event_number = any (numbers)
        union
        select l.store, n.purchase
        from linked l cross join lateral (
            with own as materialized (
                select f.replaces, f.payment, f.invoice, f.source, f.event_id from gateway.billing_figures f
                where f.purchase = l.purchase and f.store = l.store
            )
            select o.replaces as purchase from own o where o.replaces is not null
            union all
            select f.purchase from gateway.billing_figures f where f.replaces = l.purchase and f.store = l.store
            union all
            select f.purchase from own o join gateway.billing_figures f on f.payment = o.payment where f.store = l.store
            union all
            select f.purchase from own o join gateway.billing_figures f on f.invoice = o.invoice where f.store = l.store
            union all
            -- A refund can be of the customer's only purchase.
            select f.purchase
            from (
                select distinct e.subscriber from own o join gateway.billing_events e on e.source = o.source and e.event_id = o.event_id
                where l.store = 'stripe') s
            join gateway.billing_events e on e.subscriber = s.subscriber
            join gateway.billing_figures f on f.event_number = e.number
            where f.store = l.store) n
    )
    select array_agg(l.store), array_agg(l.purchase) into stores, purchases from linked l;
end $$;

-- What purchases change, by instant, computed from their figures alone. All linked ones must be among them.
--
-- Stripe and Google Play report states, several for one period, and Stripe also payments of the same period. They are counted where a period begins:
-- it ends later than those before, and began later too, or is reported at the earliest a day before the former one ends (the start of Google Play's
-- purchases never changes). Which events are known decides, never the order in which they arrived.
create function gateway.purchase_changes(stores text[], purchases text[]) returns setof gateway.subscription_changes
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return query
        with recursive figure as materialized (
            select f.* from unnest(stores, purchases) as n (store, purchase)
            join gateway.billing_figures f on f.purchase = n.purchase and f.store = n.store
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
                coalesce(n.earlier, case when f.kind = 'refund' and f.source = 'stripe' then coalesce(
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
                    )) end, f.purchase) as purchase
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
            select e.*,
                -- NULL where nothing is known before.
                not lag(e.is_end) over life and lag(e.is_trial) over life as is_after_trial,
                not lag(e.is_end) over life and not lag(e.is_trial) over life as is_after_paid,
                lead(e.occurred_at) over life as next_at
            from (
                select * from effective x
                where x.is_end or not x.may_end and not coalesce(x.is_state and x.occurred_at > x.refunded_at, false)) e
            window life as (partition by e.store, e.purchase order by e.occurred_at, e.rank, e.event_id)
        ), span as (
            select e.store, e.purchase, e.occurred_at as first, least(e.period_end, e.next_at) as ended_at, e.is_trial,
                e.renews and e.period_end < 'infinity' and not e.is_trial as is_recurring,
                e.period_price * 30.436875 * 86400 / nullif(extract(epoch from e.length), 0) as monthly
            from event e
            where not e.is_end and e.period_end is not null
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
                (e.kind = 'purchase' or e.is_state and e.is_begin and e.paid_until is null and e.is_after_trial is not true)::integer
                    as new_purchases,
                (e.is_begin and e.kind <> 'trial' and e.is_after_trial is true)::integer as conversions,
                ((e.kind = 'renewal' or e.is_state and e.is_begin and e.paid_until is not null) and e.is_after_trial is not true)::integer
                    as renewals,
                (e.will_renew is false and e.renewed_before is not false)::integer as cancellations,
                (e.is_end and e.is_after_paid is true)::integer as churned,
                (e.is_end and e.is_after_trial is true)::integer as trials_lost,
                (e.kind in ('state', 'refunded_state') and e.is_begin and not e.has_payment)::integer as unpriced
            from event e
        ), money as (
            -- Also what the events above leave out, such as the refund of an earlier period.
            select f.store, f.purchase, f.occurred_at as at, (f.kind = 'cancellation')::integer as cancellations,
                (f.kind in ('refund', 'refunded_state'))::integer as refunds,
                (f.kind in ('purchase', 'renewal', 'payment', 'refund', 'refunded_state') and f.price_usd is null)::integer as unpriced,
                case when f.kind in ('purchase', 'renewal', 'payment') then f.price_usd end as revenue,
                case when f.kind = 'refund' then -f.price_usd end as refunded
            from figure f
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

revoke all on gateway.subscription_figures, gateway.subscription_changes, gateway.subscription_rollup, gateway.unfolded_figures
    from anon, authenticated, coach_gateway;
alter table gateway.subscription_figures enable row level security;
alter table gateway.subscription_changes enable row level security;
alter table gateway.subscription_rollup enable row level security;
alter table gateway.unfolded_figures enable row level security;
grant insert on gateway.unfolded_figures to coach_gateway;
create policy unfolded_figures_gateway on gateway.unfolded_figures for insert to coach_gateway with check (gateway.is_unbound());
revoke all on all functions in schema gateway from public, anon, authenticated;
revoke all on function gateway.linked_purchases(bigint[]), gateway.purchase_changes(text[], text[]) from coach_gateway;
