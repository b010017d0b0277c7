package recordtest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Suite runs the contract of record.Store against the stores that fresh returns, none of which
// exists yet.
func Suite(t *testing.T, fresh func(t *testing.T) record.Store) {
	t.Helper()
	SuiteBut(t, fresh, nil)
}

// SuiteBut is like Suite for an emulator that breaks some of the rules: but has the reason by the
// name of the rule.
func SuiteBut(t *testing.T, fresh func(t *testing.T) record.Store, but map[string]string) {
	t.Helper()
	rules := rules()
	for name := range but {
		if rules[name] == nil {
			t.Errorf("there is no rule %q", name)
		}
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why := but[name]; why != "" {
				t.Skip(why)
			}
			rule(t, fresh(t))
		})
	}
}

func rules() map[string]func(*testing.T, record.Store) {
	return map[string]func(*testing.T, record.Store){
		"a place that was never made holds nothing": nothing,
		"making twice keeps what is there":          makeTwice,
		"of two first writers one wins":             firstWriter,
		"a write names what it replaces":            replaces,
		"a delete names what it removes":            deletes,
		"destroying twice leaves nothing":           destroys,
		"what is kept outlives the rest":            keeps,
		"of many writers at once one wins":          race,
		"an object tells when it was written":       clock,
	}
}

func nothing(t *testing.T, s record.Store) {
	_, err := s.Get(t.Context(), record.Key)
	wantKind(t, "get", err, cloud.NotFound)
}

func makeTwice(t *testing.T, s record.Store) {
	made(t, s)
	put(t, s, "one", "")
	made(t, s)
	wantData(t, s, "one")
}

func firstWriter(t *testing.T, s record.Store) {
	made(t, s)
	put(t, s, "one", "")
	_, err := s.Put(t.Context(), record.Key, []byte("two"), "")
	wantKind(t, "second first write", err, cloud.Conflict)
	wantData(t, s, "one")
}

func replaces(t *testing.T, s record.Store) {
	made(t, s)
	first := put(t, s, "one", "")
	second := put(t, s, "two", first)
	if first == second {
		t.Errorf("got version %q twice, want another after a write", first)
	}
	_, err := s.Put(t.Context(), record.Key, []byte("three"), first)
	wantKind(t, "write over an old version", err, cloud.Conflict)
	wantData(t, s, "two")
	o, err := s.Get(t.Context(), record.Key)
	if err != nil || o.Version != second {
		t.Errorf("got version %q and %v, want the one Put returned, %q", o.Version, err, second)
	}
}

func deletes(t *testing.T, s record.Store) {
	made(t, s)
	first := put(t, s, "one", "")
	second := put(t, s, "two", first)
	wantKind(t, "delete of an old version", s.Delete(t.Context(), record.Key, first), cloud.Conflict)
	for range 2 {
		if err := s.Delete(t.Context(), record.Key, second); err != nil {
			t.Errorf("delete: got %v, want nil", err)
		}
	}
	_, err := s.Get(t.Context(), record.Key)
	wantKind(t, "get", err, cloud.NotFound)
}

func destroys(t *testing.T, s record.Store) {
	made(t, s)
	put(t, s, "one", "")
	for range 2 {
		if err := s.Destroy(t.Context()); err != nil {
			t.Errorf("destroy: got %v, want nil", err)
		}
	}
	_, err := s.Get(t.Context(), record.Key)
	wantKind(t, "get", err, cloud.NotFound)
}

func race(t *testing.T, s record.Store) {
	made(t, s)
	var wins atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := s.Put(t.Context(), record.Key, []byte(strconv.Itoa(i)), ""); err == nil {
				wins.Add(1)
			}
		})
	}
	wg.Wait()
	if got := wins.Load(); got != 1 {
		t.Errorf("got %d winners, want 1", got)
	}
}

func clock(t *testing.T, s record.Store) {
	made(t, s)
	put(t, s, "one", "")
	o, err := s.Get(t.Context(), record.Key)
	if err != nil {
		t.Fatal(err)
	}
	if o.Written.IsZero() || o.Read.IsZero() || o.Read.Before(o.Written) {
		t.Errorf("got written %s and read %s, want both and in this order", o.Written, o.Read)
	}
}

func made(t *testing.T, s record.Store) {
	t.Helper()
	if err := s.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s record.Store, data, was string) string {
	t.Helper()
	version, err := s.Put(t.Context(), record.Key, []byte(data), was)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func wantData(t *testing.T, s record.Store, want string) {
	t.Helper()
	o, err := s.Get(t.Context(), record.Key)
	if err != nil || string(o.Data) != want {
		t.Errorf("got %q and %v, want %q", o.Data, err, want)
	}
}

func wantKind(t *testing.T, what string, err error, want cloud.Kind) {
	t.Helper()
	if got := cloud.KindOf(err); got != want {
		t.Errorf("%s: got %v (%s), want a refusal of kind %s", what, err, got, want)
	}
}

// keeps is the rule of a record.Keeper.
func keeps(t *testing.T, s record.Store) {
	k, ok := s.(record.Keeper)
	if !ok {
		t.Skip("it is gone with its cluster")
	}
	made(t, s)
	for _, key := range []string{record.Key, record.LeaseKey, record.KeptKey} {
		if _, err := s.Put(t.Context(), key, []byte("{}"), ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := k.DestroyExcept(t.Context(), record.KeptKey); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{record.Key, record.LeaseKey} {
		_, err := s.Get(t.Context(), key)
		wantKind(t, "get", err, cloud.NotFound)
	}
	if _, err := s.Get(t.Context(), record.KeptKey); err != nil {
		t.Errorf("got %v, want what was kept", err)
	}
	made(t, s) // a new cluster begins there
	if _, err := s.Put(t.Context(), record.Key, []byte("{}"), ""); err != nil {
		t.Error(err)
	}
}
