-- migrate: no transaction
create index concurrently if not exists idx_user_entitlements_ending on gateway.user_entitlements (access_until, user_id);
