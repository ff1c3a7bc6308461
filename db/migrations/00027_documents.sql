-- Versioned documents: what operators edit while the gateway runs (domain configurations, limits, prices, tiers, alert rules). Version 1 of every
-- document is the one that the gateway ships as a file; the database holds the versions from 2 on, and a body that is NULL stands for version 1.

create table gateway.documents (
    -- `domain`, `limits`, …
    kind text not null check (kind ~ '^[a-z][a-z0-9_-]{0,62}$'),
    id text not null check (id ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    current_version integer not null,
    -- Sequence of the latest change in the audit log: numbers become visible in their order, so a reader that asks for higher ones misses none.
    change bigint not null unique,
    primary key (kind, id)
);

-- Immutable.
create table gateway.document_versions (
    kind text not null,
    id text not null,
    version integer not null check (version > 1),
    -- NULL: the shipped version 1, after a rollback to it.
    body jsonb check (octet_length(body::text) <= 262144),
    author uuid not null,
    reason text check (char_length(reason) <= 1000),
    -- The version that a rollback restored.
    restores integer,
    created_at timestamptz not null,
    primary key (kind, id, version),
    foreign key (kind, id) references gateway.documents (kind, id) deferrable initially deferred
);
create trigger immutable before update or delete or truncate on gateway.document_versions for each statement
    execute function gateway.refuse_update();

revoke all on gateway.documents, gateway.document_versions from anon, authenticated, coach_gateway;
alter table gateway.documents enable row level security;
alter table gateway.document_versions enable row level security;
-- Every instance reads what is configured. They are written by the functions of schema operator.
grant select on gateway.documents, gateway.document_versions to coach_gateway;
create policy documents_gateway_select on gateway.documents for select to coach_gateway using (true);
create policy document_versions_gateway_select on gateway.document_versions for select to coach_gateway using (true);
