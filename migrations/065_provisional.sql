-- Each start reads all problems that are known by addresses only, in the order of their changes.
create index buckets_provisional on buckets (changed, id) where provisional;
