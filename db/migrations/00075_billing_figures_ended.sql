-- migrate: no transaction
create index concurrently if not exists idx_billing_figures_ended on gateway.billing_figures (occurred_at, event_number)
    where source = 'revenuecat' and kind in ('expiration', 'refund');
