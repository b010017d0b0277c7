package lifecycle

import (
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// DecodeLike decodes a stored task that is waiting. It takes a quarter of the time of encoding/json,
// which matters because a start reads all waiting tasks. The result shares with like the values that are
// equal in both. It reports false, and changes nothing, if the document has another form.
func (t *Task) DecodeLike(data []byte, like *Task) bool {
	r, out := storedReader{rest: data}, Task{}
	r.eachField(func(name []byte) { out.readField(&r, string(name), like) })
	if !r.atEnd() {
		return false
	}
	*t = out
	return true
}

func (t *Task) readField(r *storedReader, name string, like *Task) {
	switch name {
	case "id":
		t.ID = rm.TaskID(r.text(""))
	case "kind":
		t.Kind = Kind(r.text(string(like.Kind)))
	case "name":
		t.Name = r.text(like.Name)
	case "user_id":
		t.UserID = int32(r.integer(32)) //nolint:gosec // it was bounded
	case "username":
		t.Username = r.text(like.Username)
	case "unix":
		r.value(&t.Unix)
	case "workspace":
		t.Workspace = int32(r.integer(32)) //nolint:gosec // it was bounded
	case "submitted":
		t.Submitted = r.time()
	case "pool":
		t.Pool = r.text(like.Pool)
	case "slots":
		t.Slots = int(r.integer(strconv.IntSize))
	case "weight":
		r.value(&t.Weight)
	case "preemption_timeout_ns":
		t.PreemptionTimeout = time.Duration(r.integer(64))
	case "array":
		if t.Array != nil {
			r.fail() // twice
		}
		t.Array = &Array{}
		r.eachField(func(name []byte) { t.Array.readField(r, string(name), like.Array) })
	case "config":
		t.Config = r.raw(like.Config)
	default:
		r.fail()
	}
}

func (a *Array) readField(r *storedReader, name string, like *Array) {
	switch name {
	case "id":
		of := ""
		if like != nil {
			of = like.ID
		}
		a.ID = r.text(of)
	case "index":
		a.Index = int(r.integer(strconv.IntSize))
	case "size":
		a.Size = int(r.integer(strconv.IntSize))
	default:
		r.fail()
	}
}

// DecodeLike is Task.DecodeLike for a waiting allocation.
func (a *Allocation) DecodeLike(data []byte, like *Allocation) bool {
	r, out := storedReader{rest: data}, Allocation{}
	r.eachField(func(name []byte) { out.readField(&r, string(name), like) })
	if !r.atEnd() {
		return false
	}
	*a = out
	return true
}

func (a *Allocation) readField(r *storedReader, name string, like *Allocation) {
	switch name {
	case "id":
		a.ID = rm.AllocationID(r.text(""))
	case "task":
		a.Task = rm.TaskID(r.text(""))
	case "number":
		a.Number = int(r.integer(strconv.IntSize))
	case "name":
		a.Name = r.text(like.Name)
	case "state":
		a.State = State(r.text(string(like.State)))
	case "created":
		a.Created = r.time()
	case "first_line":
		a.FirstLine = r.integer(64)
	case "lines":
		if a.Lines != nil {
			r.fail() // twice
		}
		a.Lines = []Line{}
		r.eachItem(func() {
			var l Line
			r.eachField(func(name []byte) { l.readField(r, string(name)) })
			a.Lines = append(a.Lines, l)
		})
	default:
		r.fail()
	}
}

func (l *Line) readField(r *storedReader, name string) {
	switch name {
	case "at":
		l.At = r.time()
	case "level":
		l.Level = r.text(levelInfo)
	case "text":
		l.Text = r.text("")
	default:
		r.fail()
	}
}
