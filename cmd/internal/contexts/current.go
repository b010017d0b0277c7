package contexts

// Activate adds c or replaces the context with its name, and makes it the current one. The context that was
// current comes back when c is removed.
func (b *Book) Activate(c Context) {
	if b.Current != c.Name {
		c.Before = b.Current
	}
	b.Put(c)
	b.Current = c.Name
}

// Drop removes the context with a name. If it is the current one, the context that was current before it
// comes back, if it still exists.
func (b *Book) Drop(name string) {
	gone, found := b.Get(name)
	if !found {
		return
	}
	b.remove(name)
	for i := range b.Contexts {
		if c := &b.Contexts[i]; c.Before == name {
			c.Before = gone.Before
		}
	}
	if b.Current == name {
		before, _ := b.Get(gone.Before)
		b.Current = before.Name
	}
}

// Overridden returns a sentence if DET_MASTER selects another master than the context with a name, and ""
// otherwise.
func (b *Book) Overridden(getenv func(string) string, name string) string {
	want := getenv(masterVariable)
	if want == "" {
		return ""
	}
	chosen, _ := b.Get(name)
	if c, found := b.find(want); found && c.Master == chosen.Master {
		return ""
	}
	text := masterVariable + "=" + want + " is set and counts before the current context"
	if name == "" {
		return text + "."
	}
	return text + ": unset it, or use --master " + name + "."
}
