package task_test

import (
	"slices"
	"testing"
)

// named returns the IDs of the commands and arrays that begin with a text.
func (m *master) named(text string) []string {
	m.t.Helper()
	list, err := m.tasks.Named(m.t.Context(), text, 10)
	if err != nil {
		m.t.Fatal(err)
	}
	var ids []string
	for _, x := range list {
		ids = append(ids, x.GetId())
	}
	return ids
}

func TestTasksAreFoundByTheirBeginning(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one := m.launch(`{"entrypoint": ["true"], "description": "zebra"}`).GetCommand()
	r, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 0, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	array, members := r.GetArrayId(), m.members(r.GetArrayId())
	both := []string{members[0].GetId(), members[1].GetId()}
	slices.Sort(both)
	for range 2 { // and after a restart
		for text, want := range map[string][]string{
			one.GetId():         {one.GetId()},
			one.GetId()[:8]:     {one.GetId()},
			"zeb":               {one.GetId()},
			both[0][:13]:        both[:1],
			array[:13]:          {array},
			"nothing like that": nil,
		} {
			if got := m.named(text); !slices.Equal(got, want) {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
		if got := m.named("part"); len(got) != 2 {
			t.Errorf("got %q, want both tasks of the array", got)
		}
		if got := m.named(""); len(got) != 3 {
			t.Errorf("got %q without a text, want all tasks", got)
		}
		m.restart()
	}
	list, err := m.tasks.Named(t.Context(), array, 10)
	if err != nil || len(list) != 1 || list[0].GetName() != "part" || list[0].GetState() != "array" {
		t.Errorf("got %v, %v, want the array with the name of its tasks", list, err)
	}
}
