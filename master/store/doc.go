// Package store keeps what the master must not forget: documents, task logs and
// who the master is. It does so in an embedded SQLite file or in PostgreSQL,
// with the same code and the same promises.
//
// A write that was reported done is on the disk; a write that was reported
// failed was not done. The one exception has a name: [ErrOutcomeUnknown].
//
//	      Write ──▶ queue ──▶ one writer ──▶ BEGIN
//	      Write ──▶   │                      lease: is my epoch still the epoch?
//	      Write ──▶   │                      closure   (each write)
//	                  │                      COMMIT, once for all
//	answers ◀─────────┴────────────────────── durable
//
//	reads ──▶ read pool ──▶ a snapshot, never behind the writer's lock
//
// SQL stays at keys and ranges, so that both databases run one text; what a
// document means is known to the package that owns its kind. Times are stored as
// microseconds since 1970 UTC, 0 for none.
package store
