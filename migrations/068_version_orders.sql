-- Versions compare as the package manager of their release does.
comment on column occurrence.version_key is 'Key that sorts as the package manager of the release compares versions; empty: not comparable.';
comment on type package_version is 'A package version with its sort key. Rows compare as the package manager of the release compares versions.';
comment on column package_version.key is 'Key that sorts as the package manager of the release compares versions.';
comment on column version_seen.key is 'Key that sorts as the package manager of the release compares versions. Those of dpkg come before those of rpm, and those of pacman last.';
comment on column buckets.first_version is 'Lowest version seen. Null: no version is comparable.';
comment on column buckets.last_version is 'Highest version seen. Null: no version is comparable.';
comment on column bucket_releases.lowest_version is 'Lowest version. Null: no version is comparable.';
comment on column bucket_releases.highest_version is 'Highest version. Null: no version is comparable.';
comment on column bucket_versions.version_key is 'Key that sorts as the package manager of the release compares versions. Null: not comparable.';
comment on column package_versions.version_key is 'Key that sorts as the package manager of the release compares versions.';
