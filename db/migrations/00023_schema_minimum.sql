-- Which gateways may still work with this schema, by the newest migration that they were released with. A migration that older gateways cannot
-- work with raises it; every other one leaves it. See db/README.md.

create table gateway.schema_minimum (
    version text not null,
    only_row boolean primary key default true check (only_row)
);
insert into gateway.schema_minimum (version) values ('00023');

revoke all on gateway.schema_minimum from anon, authenticated, coach_gateway;
alter table gateway.schema_minimum enable row level security;
grant select on gateway.schema_minimum to coach_gateway;
create policy schema_minimum_gateway_select on gateway.schema_minimum for select to coach_gateway using (true);
