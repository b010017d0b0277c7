package checkpoint

// State is where a checkpoint stands.
//
//	ACTIVE ──▶ COMPLETED ──▶ DELETING ──▶ DELETED
//	               ▲  ▲         │
//	               │  └─────────┤ no file was removed
//	               │            ▼
//	           (usable) PARTIALLY_DELETED ──▶ DELETING
//
// ERROR is reported of an upload that failed. Such a checkpoint, and one that stays ACTIVE,
// may be deleted and not be used.
type State string

// The states. All but Deleting are states of Determined 0.38.1.
const (
	Active           State = "ACTIVE"
	Completed        State = "COMPLETED"
	Error            State = "ERROR"
	Deleting         State = "DELETING"
	Deleted          State = "DELETED"
	PartiallyDeleted State = "PARTIALLY_DELETED"
)

// States is every state.
func States() []State {
	return []State{Active, Completed, Error, Deleting, Deleted, PartiallyDeleted}
}

// Usable says that training may start from it, and a model version may be it.
func (s State) Usable() bool { return s == Completed || s == PartiallyDeleted }

// Deletable says that there are files that may be deleted.
func (s State) Deletable() bool { return s != Deleting && s != Deleted }
