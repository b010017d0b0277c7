package template_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/workspace"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// everybody implements the users of workspace.Open.
type everybody struct{}

func (everybody) User(id int32) (*apiv1.User, error) {
	return &apiv1.User{Id: id, Username: "somebody"}, nil
}

func admin() *apiv1.User { return &apiv1.User{Id: 1, Username: "admin", Admin: true} }
func ann() *apiv1.User   { return &apiv1.User{Id: 7, Username: "ann"} }
func bob() *apiv1.User   { return &apiv1.User{Id: 8, Username: "bob"} }

type world struct {
	t     *testing.T
	store *store.Store
	*template.Templates
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: storetest.New(t)}
	w.restart()
	return w
}

// restart reads everything from the store again.
func (w *world) restart() {
	w.t.Helper()
	spaces, err := workspace.Open(w.t.Context(), workspace.Config{Store: w.store, Users: everybody{}})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.Templates, err = template.Open(w.t.Context(), template.Config{Store: w.store, Workspaces: spaces}); err != nil {
		w.t.Fatal(err)
	}
}

func config(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) create(by *apiv1.User, name, text string) {
	w.t.Helper()
	out, err := w.Create(w.t.Context(), by, &apiv1.Template{Name: name, Config: config(w.t, text)})
	if err != nil || out.GetName() != name || out.GetWorkspaceId() != workspace.First {
		w.t.Fatal(out, err)
	}
}

// text returns a stored template, or null if it does not exist.
func (w *world) text(name string) string {
	w.t.Helper()
	b, err := w.Template(w.t.Context(), name)
	if status.Of(err) == status.NotFound {
		return "null"
	}
	var v any
	if err != nil || json.Unmarshal(b, &v) != nil {
		w.t.Fatal(string(b), err)
	}
	b, _ = json.Marshal(v)
	return string(b)
}

func TestTemplatesSurviveARestart(t *testing.T) {
	w := newWorld(t)
	w.create(ann(), "gpu", `{"resources":{"slots":1000000}}`)
	w.create(ann(), "b/c", `{}`)
	w.create(bob(), "Alpha", `{"x":1}`)
	if _, err := w.SetConfig(t.Context(), bob(), "Alpha", config(t, `{"x":2}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Rename(t.Context(), ann(), "b/c", "beta"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var names []string
		for _, tpl := range w.All(ann()) {
			names = append(names, tpl.GetName())
		}
		if got := strings.Join(names, " "); got != "Alpha beta gpu" {
			t.Errorf("templates %q", got)
		}
		if got := w.text("gpu") + w.text("Alpha") + w.text("b/c"); got != `{"resources":{"slots":1000000}}{"x":2}null` {
			t.Errorf("configurations %s", got)
		}
		w.restart()
	}
	if err := w.Delete(t.Context(), ann(), "gpu"); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if got := w.text("gpu"); got != "null" {
		t.Errorf("a deleted template is %s", got)
	}
}

func TestOnlyOwnersAndAdministratorsChangeTemplates(t *testing.T) {
	w := newWorld(t)
	w.create(ann(), "hers", `{}`)
	for name, do := range map[string]func(by *apiv1.User) error{
		"config": func(by *apiv1.User) error { _, err := w.SetConfig(t.Context(), by, "hers", nil); return err },
		"put": func(by *apiv1.User) error {
			_, err := w.Put(t.Context(), by, &apiv1.Template{Name: "hers"})
			return err
		},
		"rename": func(by *apiv1.User) error { _, err := w.Rename(t.Context(), by, "hers", "hers"); return err },
	} {
		if err := do(bob()); status.Of(err) != status.PermissionDenied {
			t.Errorf("%s by another user: %v", name, err)
		}
		for _, by := range []*apiv1.User{ann(), admin()} {
			if err := do(by); err != nil {
				t.Errorf("%s by %s: %v", name, by.GetUsername(), err)
			}
		}
	}
	if err := w.Delete(t.Context(), bob(), "hers"); status.Of(err) != status.PermissionDenied {
		t.Errorf("delete by another user: %v", err)
	}
	if err := w.Delete(t.Context(), admin(), "hers"); err != nil {
		t.Error(err)
	}
}

func TestTemplateSecretsAreHidden(t *testing.T) {
	w := newWorld(t)
	const text = `{"bucket":"b","checkpoint_storage":{"access_key":"k","bucket":"b"},"environment":{"environment_variables":{"cpu":["TOKEN=t"]},"image":"i","pod_spec":{"spec":{}}},"list":[{"password":"p","username":"u"}]}`
	w.create(ann(), "s3", text)
	for by, want := range map[*apiv1.User]string{
		ann():   text,
		admin(): text,
		bob():   `{"bucket":"b","checkpoint_storage":{"bucket":"b"},"environment":{"image":"i"},"list":[{"username":"u"}]}`,
	} {
		out, err := w.Get(by, "s3")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(out.GetConfig().AsMap()); string(got) != want {
			t.Errorf("%s sees %s", by.GetUsername(), got)
		}
	}
	if got := w.text("s3"); got != text {
		t.Errorf("after others looked at it, it is %s", got)
	}
}

func TestInvalidTemplates(t *testing.T) {
	w := newWorld(t)
	w.create(ann(), "taken", `{}`)
	w.create(ann(), "other", `{}`)
	for name, tt := range map[string]struct {
		do   func() error
		want status.Code
	}{
		"no name":        {func() error { _, err := w.Create(t.Context(), ann(), &apiv1.Template{}); return err }, status.InvalidArgument},
		"two dots":       {func() error { _, err := w.Create(t.Context(), ann(), &apiv1.Template{Name: ".."}); return err }, status.InvalidArgument},
		"an unseen name": {func() error { _, err := w.Create(t.Context(), ann(), &apiv1.Template{Name: "a\nb"}); return err }, status.InvalidArgument},
		"a taken name":   {func() error { _, err := w.Create(t.Context(), bob(), &apiv1.Template{Name: "taken"}); return err }, status.AlreadyExists},
		"no workspace": {func() error {
			_, err := w.Create(t.Context(), ann(), &apiv1.Template{Name: "x", WorkspaceId: 9})
			return err
		}, status.NotFound},
		"too large": {func() error {
			c := config(t, `{"x":"`+strings.Repeat("y", 1<<20)+`"}`)
			_, err := w.Create(t.Context(), ann(), &apiv1.Template{Name: "x", Config: c})
			return err
		}, status.InvalidArgument},
		"change a missing template": {func() error { _, err := w.SetConfig(t.Context(), ann(), "x", nil); return err }, status.NotFound},
		"rename to a taken name":    {func() error { _, err := w.Rename(t.Context(), ann(), "other", "taken"); return err }, status.AlreadyExists},
		"delete a missing template": {func() error { return w.Delete(t.Context(), ann(), "x") }, status.NotFound},
		"get a missing template":    {func() error { _, err := w.Get(ann(), "x"); return err }, status.NotFound},
	} {
		if err := tt.do(); status.Of(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(w.All(ann())); n != 2 {
		t.Errorf("%d templates", n)
	}
}

func TestNumberOfTemplatesIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := store.Collection[map[string]any]{Kind: "template"}
	err := w.store.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 10_000 {
			name := fmt.Sprint("t", i)
			doc := map[string]any{"name": name, "config": map[string]any{}, "workspace_id": 1, "user_id": ann().GetId(), "created": time.Unix(0, 0)}
			if err := kept.Put(tx, name, "", time.Time{}, doc); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	one := &apiv1.Template{Name: "one more", Config: &structpb.Struct{}}
	if _, err := w.Create(t.Context(), ann(), one); status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "user ann has 10000 templates") {
		t.Errorf("got %v, want an error with the number of templates", err)
	}
	if _, err := w.Create(t.Context(), bob(), one); err != nil {
		t.Errorf("another user: %v", err)
	}
}
