-- migrate: no transaction
create index concurrently if not exists idx_subscribers_outdated on gateway.subscribers (fold_version, id);
