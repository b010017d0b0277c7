// Package store stores the persistent state of the master: documents, task logs, metrics and the
// lease. It uses an embedded SQLite file or PostgreSQL, with the same code and the same guarantees.
//
// A write that succeeded is on disk; a write that failed was not performed. The only exception is
// [ErrOutcomeUnknown].
//
//	      Write ──▶ queue ──▶ one writer ──▶ BEGIN
//	      Write ──▶   │                      lease: is my epoch still the epoch?
//	      Write ──▶   │                      closure   (each write)
//	                  │                      COMMIT, once for all
//	answers ◀─────────┴────────────────────── durable
//
//	reads ──▶ read pool ──▶ a snapshot, never behind the writer's lock
//
// SQL is limited to keys and ranges, so that both databases use the same statements. The meaning of a
// document is defined by the package that owns its kind. Times are stored as microseconds since 1970
// UTC; 0 means no time.
package store
