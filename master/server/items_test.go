package server

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// itemField is a list or map of a request, with the path of messages to it.
type itemField struct {
	r    route
	path []protoreflect.FieldDescriptor
}

func (i itemField) field() protoreflect.FieldDescriptor { return i.path[len(i.path)-1] }

// name returns the name of the field in errors.
func (i itemField) name() string {
	var names []string
	for _, f := range i.path {
		names = append(names, f.JSONName())
	}
	return strings.Join(names, ".")
}

// itemFields returns the lists and maps in the requests of all routes.
func itemFields(routes []route) iter.Seq[itemField] {
	return func(yield func(itemField) bool) {
		for _, r := range routes {
			if r.in != nil && !walkItems(itemField{r: r}, r.in, yield) {
				return
			}
		}
	}
}

func walkItems(at itemField, m protoreflect.MessageDescriptor, yield func(itemField) bool) bool {
	if m == nil || !strings.HasPrefix(string(m.FullName()), messages) || len(at.path) > 5 {
		return true
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		next := itemField{at.r, append(at.path[:len(at.path):len(at.path)], f)}
		inner := f.Message()
		if f.IsMap() {
			inner = f.MapValue().Message()
		}
		if (f.IsList() || f.IsMap()) && !yield(next) || !walkItems(next, inner, yield) {
			return false
		}
	}
	return true
}

// requestItems returns the distinct fields of itemFields.
func requestItems(routes []route) map[protoreflect.FieldDescriptor]bool {
	all := map[protoreflect.FieldDescriptor]bool{}
	for i := range itemFields(routes) {
		all[i.field()] = true
	}
	return all
}

// longBody returns a request with n entries in the field.
func (i itemField) longBody(t *testing.T, n int) string {
	t.Helper()
	m := dynamicpb.NewMessage(i.r.in)
	in := protoreflect.Message(m)
	for _, f := range i.path[:len(i.path)-1] {
		switch {
		case f.IsList():
			in = in.Mutable(f).List().AppendMutable().Message()
		case f.IsMap():
			in = in.Mutable(f).Map().Mutable(protoreflect.ValueOfString("k").MapKey()).Message()
		default:
			in = in.Mutable(f).Message()
		}
	}
	f := i.field()
	for k := range n {
		if !f.IsMap() {
			list := in.Mutable(f).List()
			list.Append(shortValue(f, list.NewElement))
			continue
		}
		entries := in.Mutable(f).Map()
		entries.Set(protoreflect.ValueOfString(fmt.Sprint(k)).MapKey(), shortValue(f.MapValue(), entries.NewValue))
	}
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if i.r.list {
		return "[" + string(b) + "]"
	}
	return string(b)
}

// shortValue returns an example without message fields, so that many fit into a body.
func shortValue(f protoreflect.FieldDescriptor, message func() protoreflect.Value) protoreflect.Value {
	if m := f.Message(); m != nil {
		v := message()
		if number := m.Fields().ByName("number_value"); number != nil { // a Value must have one
			v.Message().Set(number, protoreflect.ValueOfFloat64(1))
		}
		return v
	}
	return exampleValue(f, nil, 0)
}

func TestEveryListAndMapOfRequestIsLimited(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	seen := map[protoreflect.FullName]bool{}
	for i := range itemFields(w.routes()) {
		most := mostItemsOf(i.field())
		if most > mostItems && seen[i.field().FullName()] {
			continue // sending a body of a megabyte once is enough
		}
		seen[i.field().FullName()] = true
		rec := w.ask(t, i.r.method, w.fill(i.r), w.callers(i.r)[0], i.longBody(t, most+1))
		named := strings.Contains(rec.Body.String(), fmt.Sprintf("%s: must have at most %d entries (has %d)", i.name(), most, most+1))
		// The body as a whole is rejected if the field alone would reach the limit of the body.
		whole := most >= mostValues && (rec.Code == http.StatusRequestEntityTooLarge || strings.Contains(rec.Body.String(), "the request body has more than"))
		if (rec.Code != http.StatusBadRequest || !named) && !whole {
			t.Errorf("%s %s with %d entries in %s: got %d %.200s, want 400 and its bound", i.r.method, i.r.path, most+1, i.name(), rec.Code, rec.Body)
		}
	}
	if len(seen) < 25 {
		t.Errorf("%d lists and maps were tried, want those of all requests", len(seen))
	}
}

func TestItemBoundsBelongToRequests(t *testing.T) {
	t.Parallel()
	known := map[protoreflect.FullName]bool{}
	for f := range requestItems(newWhole(t).routes()) {
		known[f.FullName()] = true
	}
	for name := range maps.Keys(itemBounds()) {
		if !known[name] {
			t.Errorf("%s has a bound and is in no request", name)
		}
	}
}

func TestLogBatchIsLimited(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	body := "[" + manyOf(mostItems+1, "{}") + "]"
	rec := w.ask(t, http.MethodPost, "/task-logs", w.user, body)
	if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "must have at most 10000 entries (has 10001)") {
		t.Errorf("got %d %s, want 400 and the bound", rec.Code, rec.Body)
	}
}
