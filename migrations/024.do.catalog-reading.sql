-- Reading the catalog: pages of capabilities as a tenant sees them, at one revision.
select 1;
