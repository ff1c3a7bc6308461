-- Figures of subscriptions say the same as the fold of entitlements (Sources/CoachCore/Entitlements) of three cases in which they said something else:
-- an expiration that was told late ended a purchase that had been renewed meanwhile; an extension, or a renewal that was switched on again, revived a
-- refunded purchase; and what Google Play began anew for another product was a second purchase until the former period ended.
--
-- New kind of gateway.billing_figures: product_change, RevenueCat's event of a purchase that another one of the subscriber continues. Its product is the
-- next one; NULL: not named. It is no figure by itself.
do $do$
declare
    changed text;
    old text;
    new text;
begin
    for changed, old, new in values
        ('gateway.purchase_changes(text[],text[])',
            '), line as (
            select f.store, f.purchase, f.replaces as earlier, 1 as steps from figure f where f.replaces is not null
            union
            select l.store, l.purchase, f.replaces, l.steps + 1
            from line l join figure f on f.store = l.store and f.purchase = l.earlier and f.replaces is not null
            where l.steps < 50
        ), first_name as (',
            '), change_of_product as (
            -- As Purchase.isChanged of the fold: the next one is of the product that the change names, unless the former one was renewed since then; or,
            -- at Google Play, of any other product and begun within the hour.
            select distinct on (c.event_number) c.store, n.purchase, c.purchase as earlier, n.occurred_at
            from figure c
            join gateway.billing_events e on e.source = c.source and e.event_id = c.event_id
            join gateway.billing_events o on o.subscriber = e.subscriber
            join gateway.billing_figures n on n.event_number = o.number and n.store = c.store and n.purchase <> c.purchase
            left join lateral (
                select b.product, b.period_start, b.occurred_at from gateway.billing_figures b
                where b.purchase = c.purchase and b.store = c.store and b.source = c.source and b.kind in (''trial'', ''purchase'', ''renewal'')
                    and b.occurred_at <= greatest(c.occurred_at, n.occurred_at)
                order by b.occurred_at desc, b.rank desc, b.event_id desc limit 1) as b on true
            where c.kind = ''product_change'' and n.source = c.source and n.kind in (''trial'', ''purchase'', ''renewal'')
                and (n.occurred_at >= c.occurred_at or n.period_end > c.occurred_at)
                and coalesce(b.occurred_at <= c.occurred_at, true)
                and coalesce(n.period_start >= coalesce(b.period_start, c.period_start), true)
                and case when c.product is not null then n.product = c.product
                    else c.store = ''play_store'' and n.product is distinct from b.product
                        and n.period_start between c.occurred_at - interval ''1 hour'' and c.occurred_at + interval ''1 hour'' end
            order by c.event_number, n.occurred_at, n.rank, n.event_id
        ), link as materialized (
            select f.store, f.purchase, f.replaces as earlier, f.occurred_at from figure f where f.replaces is not null
            union all
            select * from change_of_product
        ), line as (
            select f.store, f.purchase, f.earlier, 1 as steps from link f
            union
            select l.store, l.purchase, f.earlier, l.steps + 1
            from line l join link f on f.store = l.store and f.purchase = l.earlier
            where l.steps < 50
        ), first_name as ('),
        ('gateway.purchase_changes(text[],text[])',
            'select f.store, f.replaces as purchase, min(f.occurred_at) as at from figure f where f.replaces is not null group by 1, 2',
            'select f.store, f.earlier as purchase, min(f.occurred_at) as at from link f group by 1, 2'),
        ('gateway.purchase_changes(text[],text[])',
            'select f.store, f.occurred_at, f.rank, f.event_id, f.kind,',
            'select f.source, f.store, f.occurred_at, f.rank, f.event_id, f.kind,'),
        ('gateway.purchase_changes(text[],text[])',
            'where f.kind not in (''cancellation'', ''payment_link'')',
            'where f.kind not in (''cancellation'', ''payment_link'', ''product_change'')'),
        ('gateway.purchase_changes(text[],text[])',
            'select b.*, count(*) filter (where b.is_begin) over (
                partition by b.store, b.purchase order by b.occurred_at, b.rank, b.event_id rows unbounded preceding) as period
            from begun b',
            'select b.*, count(*) filter (where b.is_begin) over (life rows unbounded preceding) as period, row_number() over life as place
            from begun b
            window life as (partition by b.store, b.purchase order by b.occurred_at, b.rank, b.event_id)'),
        ('gateway.purchase_changes(text[],text[])',
            '-- The refund of an earlier period ends nothing.
                n.may_end and not n.is_overtaken and not coalesce(
                    n.kind = ''refund'' and n.period_start < max(n.period_start) filter (where n.is_begin) over period, false) as is_end,',
            '-- The refund of an earlier period ends nothing, nor does its expiration, which can be told late. Stripe and Google Play tell of no
                -- periods but the present one.
                n.may_end and not n.is_overtaken and not coalesce(
                    n.kind = ''refund'' and n.period_start < max(n.period_start) filter (where n.is_begin) over period
                    or n.kind = ''expiration'' and n.source in (''revenuecat'', ''appstore'') and case
                        when n.period_start is null then n.period_end <= max(n.period_start) filter (where n.is_begin) over period
                        else n.period_start < max(n.period_start) filter (where n.is_begin) over period
                            and coalesce(n.period_end < max(n.period_end) filter (where n.is_begin) over period, true) end,
                    false) as is_end,'),
        ('gateway.purchase_changes(text[],text[])',
            'select p.*, min(p.occurred_at) filter (where p.is_end and p.kind = ''refund'') over (
                partition by p.store, p.purchase, p.period) as refunded_at
            from paid p',
            'select p.*, min(p.occurred_at) filter (where p.is_end and p.kind = ''refund'') over (
                    partition by p.store, p.purchase, p.period) as refunded_at,
                -- A refund stays until it is reversed or another period begins.
                p.kind = ''extension'' and coalesce(
                    max(p.place) filter (where p.is_end and p.kind = ''refund'') over before
                        > coalesce(max(p.place) filter (where p.kind = ''refund_reversal'' and not p.is_late_reversal) over before, 0),
                    false) as is_of_refunded
            from paid p
            window before as (
                partition by p.store, p.purchase, p.period order by p.place rows between unbounded preceding and 1 preceding)'),
        ('gateway.purchase_changes(text[],text[])',
            'or not x.may_end and not x.is_late_reversal and not coalesce(x.is_state and x.occurred_at > x.refunded_at, false)) e',
            'or not x.may_end and not x.is_late_reversal and not x.is_of_refunded
                        and not coalesce(x.is_state and x.occurred_at > x.refunded_at, false)) e'),
        ('gateway.linked_purchases(bigint[])',
            '-- A refund can be of the customer''s only purchase.
            select f.purchase
            from (
                select distinct e.subscriber from own o join gateway.billing_events e on e.source = o.source and e.event_id = o.event_id
                where l.store = ''stripe'') s
            join',
            '-- A refund can be of the customer''s only purchase, and a change of product leads to another one.
            select f.purchase
            from (
                select d.subscriber
                from (
                    select distinct e.subscriber
                    from own o join gateway.billing_events e on e.source = o.source and e.event_id = o.event_id) as d
                where l.store = ''stripe'' or exists (
                    select from gateway.billing_events c join gateway.billing_figures g on g.event_number = c.number
                    where c.subscriber = d.subscriber and g.store = l.store and g.kind = ''product_change'')) s
            join'),
        ('gateway.merge_subscribers(bigint,bigint[])',
            '-- What a refund of Stripe is of can depend on the customer''s purchases.
    insert into gateway.unfolded_figures (event_number) select e.number
    from gateway.billing_events e where e.subscriber = target and e.source = ''stripe'';',
            '-- What a refund of Stripe is of can depend on the customer''s purchases, and what a change of product leads to on the subscriber''s.
    insert into gateway.unfolded_figures (event_number) select e.number
    from gateway.billing_events e
    where e.subscriber = target and (e.source = ''stripe'' or exists (
        select from gateway.billing_figures f where f.event_number = e.number and f.kind = ''product_change''));')
    loop
        if position(old in pg_get_functiondef(changed::regprocedure)) = 0 then
            raise exception '% has not the text that is replaced: %', changed, old;
        end if;
        execute replace(pg_get_functiondef(changed::regprocedure), old, new);
    end loop;
end $do$;

-- Changes of product that were stored before, as the gateway writes them now (BillingFigures).
insert into gateway.billing_figures (
    event_number, source, event_id, occurred_at, rank, kind, purchase, store, product, period_start, period_end, renews)
select e.number, e.source, e.event_id, to_timestamp((j.event ->> 'at')::bigint / 1000.0), 512 + coalesce((j.event ->> 'sequence')::integer, 0),
    'product_change',
    coalesce(
        j.reference ->> 'original', j.reference ->> 'transaction',
        nullif(concat_ws(' ', j.event #>> '{subject,0}', j.period ->> 'product'), ''), e.event_id),
    j.reference ->> 'store', j.event #>> '{change,purchase,change_to}', to_timestamp((j.period ->> 'purchased_at')::bigint / 1000.0),
    case j.period ->> 'expiry' when 'never' then 'infinity' else to_timestamp((j.period ->> 'expiry')::bigint / 1000.0) end,
    (j.period ->> 'renews')::boolean
from gateway.billing_events e
cross join lateral (
    select e.event::jsonb as event, e.event::jsonb #> '{change,reference}' as reference, e.event::jsonb #> '{change,period}' as period) as j
where e.source = 'revenuecat' and e.type = 'PRODUCT_CHANGE' and e.status = 'folded' and e.environment = 'production'
    and j.reference ->> 'store' <> 'manual'
on conflict do nothing;

-- What is different now in the rollup is folded again, each purchase by one of its events.
insert into gateway.unfolded_figures (event_number)
select min(f.event_number) from gateway.billing_figures f group by f.store, f.purchase
having bool_or(f.kind = 'product_change') or bool_or(f.kind = 'refund') and bool_or(f.kind = 'extension')
    or min(f.period_end) filter (where f.kind = 'expiration' and f.source in ('revenuecat', 'appstore'))
        < max(f.period_end) filter (where f.kind in ('trial', 'purchase', 'renewal'));

-- Costs by model said nothing of a turn's second model without a price: `unpriced_turns` counts a turn once, where its first such call is. Rows by model or
-- provider count it once for each model of a provider whose cost lacks a call of it; all others as before. The next file makes the rollups anew.
do $do$
declare
    rollup text;
    ledger_start constant date := (select s.ledger_start from gateway.rollup_state s);
begin
    foreach rollup in array array[
        'figures', 'usage_quarters', 'usage_hours', 'usage_days', 'key_quarters', 'key_hours', 'key_days', 'key_weeks', 'persona_quarters', 'persona_days',
        'account_usage_days', 'account_days']
    loop
        -- Turns with a call of unknown cost, once for each provider and model of these calls.
        execute format('alter table gateway.%I add column unpriced_model_turns bigint not null default 0', rollup);
        -- Days that the ledger has no more keep what is known of them.
        if ledger_start is not null and rollup <> 'figures' then
            execute format(
                'update gateway.%I r set unpriced_model_turns = r.unpriced_turns where r.%s and r.unpriced_turns <> 0', rollup,
                case
                    when rollup like '%days' then 'day < $1' when rollup like '%weeks' then 'week < $1'
                    else 'bucket < $1::timestamp at time zone ''UTC''' end)
                using ledger_start;
        end if;
    end loop;
end $do$;

-- The measure that is shown as `unpriced_turns`.
create function gateway.unpriced_measure(group_by text[]) returns text
    language sql immutable set search_path = ''
    return case when group_by && array['model', 'provider'] then 'unpriced_model_turns' else 'unpriced_turns' end;

create or replace function gateway.cost_measures() returns text[]
    language sql immutable set search_path = ''
    return array['calls', 'turns', 'input_tokens', 'input_known', 'cached_input_tokens', 'cached_input_known', 'output_tokens', 'output_known',
        'cost_nanodollars', 'priced_calls', 'unpriced_turns', 'unpriced_model_turns'];

do $do$
declare
    period constant text := 'timestamp with time zone, timestamp with time zone, text[], text, text';
    changed text;
    old text;
    new text;
begin
    for changed, old, new in values
        ('gateway.folding_statement(boolean)',
            'order by c.attempt, c.call) as is_unpriced
',
            'order by c.attempt, c.call) as is_unpriced,
                c.unpriced > 0 and 1 = row_number() over (
                    partition by c.sign, c.account_id, c.day, c.turn_id, c.unpriced > 0, c.provider, c.model order by c.attempt, c.call)
                    as is_unpriced_of_model
'),
        ('gateway.folding_statement(boolean)',
            'sum(r.sign * r.is_unpriced::integer) as unpriced_turns,',
            'sum(r.sign * r.is_unpriced::integer) as unpriced_turns, sum(r.sign * r.is_unpriced_of_model::integer) as unpriced_model_turns,'),
        (format('operator.costs(%s)', period), '
                f.unpriced_turns
            from ($sql$', '
                f.$sql$ || gateway.unpriced_measure(group_by) || $sql$
            from ($sql$'),
        (format('operator.user_costs(%s, bigint, text[], uuid[])', period),
            'sum(d.unpriced_turns)::bigint as unpriced_turns', 'sum(d.%I)::bigint as unpriced_turns'),
        (format('operator.user_costs(%s, bigint, text[], uuid[])', period),
            'columns, case when keys', 'columns, gateway.unpriced_measure(group_by), case when keys'),
        (format('operator.cost_page(%s, bigint, text[])', period), '
                    k.unpriced_turns
                from k', '
                    k.$sql$ || gateway.unpriced_measure(group_by) || $sql$
                from k'),
        (format('operator.persona_costs(%s, bigint, text[])', period), '
                    k.unpriced_turns
                from k', '
                    k.%2$I
                from k'),
        (format('operator.persona_costs(%s, bigint, text[])', period), 'limit $6$sql$, ranks)', 'limit $6$sql$, ranks, gateway.unpriced_measure(group_by))')
    loop
        if position(old in pg_get_functiondef(changed::regprocedure)) = 0 then
            raise exception '% has not the text that is replaced: %', changed, old;
        end if;
        execute replace(pg_get_functiondef(changed::regprocedure), old, new);
    end loop;
    -- Keeps the plan of the statement, as in 00039.
    execute format(
        'create or replace function gateway.fold_rows(xid8, xid8, date[]) returns setof bigint '
            'language plpgsql set search_path = '''' set plan_cache_mode = force_generic_plan as %L',
        format('begin return query %s; end', gateway.folding_statement(false)));
end $do$;

revoke all on all functions in schema gateway from public, anon, authenticated;
