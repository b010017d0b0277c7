package tasks

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// values are the fields of the form that starts a task.
type values struct {
	Kind, Name, Template, Pool, Slots, Image, Program string
	// Experiments and Trials are numbers with commas between them.
	Experiments, Trials string
	// Request makes a form that is sent twice start one task.
	Request string
}

// form is the data of start.html.
type form struct {
	values
	Kinds            []option
	Templates, Pools []option
	// HasProgram reports that the kind runs a program of the form, and HasSubjects that it shows experiments.
	HasProgram, HasSubjects bool
	// Problem is the error in the values.
	Problem string
}

func readValues(in url.Values) values {
	text := func(name string) string { return strings.TrimSpace(in.Get(name)) }
	return values{
		Kind: in.Get("kind"), Name: text("name"), Template: in.Get("template"), Pool: in.Get("pool"), Slots: text("slots"), Image: text("image"),
		Program: strings.TrimSpace(strings.ReplaceAll(in.Get("program"), "\r\n", "\n")), Request: in.Get("request"),
		Experiments: text("experiments"), Trials: text("trials"),
	}
}

// kind returns the kind of the task to start. Its error says that there is none.
func (v values) kind() (kind, error) {
	for _, t := range startable {
		if k := kinds()[t]; k.Noun == v.Kind || v.Kind == "" {
			return k, nil
		}
	}
	return kind{}, &ui.Refusal{Status: http.StatusNotFound, Message: "There is no form that starts a task of this kind."}
}

// request returns the task to launch, or the sentence about a value that is not valid.
func (v values) request(k kind) (order, string) {
	config, resources := map[string]any{}, map[string]any{}
	if v.Slots != "" {
		n, err := strconv.ParseUint(v.Slots, 10, 31)
		if err != nil {
			return order{}, "Slots must be a whole number, 0 or more."
		}
		resources["slots"] = n
	}
	if v.Pool != "" {
		resources["resource_pool"] = v.Pool
	}
	if len(resources) > 0 {
		config["resources"] = resources
	}
	if v.Image != "" {
		config["environment"] = map[string]any{"image": v.Image}
	}
	if v.Name != "" {
		config["description"] = v.Name
	}
	switch {
	case k.program && v.Program != "":
		config["entrypoint"] = []any{v.Program}
	case k.program && v.Template == "":
		return order{}, "Give a program, or a template that has one."
	}
	experiments, known := numbers(v.Experiments)
	trials, alike := numbers(v.Trials)
	switch {
	case !known || !alike:
		return order{}, "Give the numbers of experiments and trials, with commas between them."
	case k.subjects && len(experiments)+len(trials) == 0:
		return order{}, "Give the number of an experiment or a trial."
	}
	made, err := structpb.NewStruct(config)
	if err != nil {
		return order{}, "A field has characters that are not text."
	}
	return order{&apiv1.LaunchCommandRequest{Config: made, TemplateName: v.Template, RequestId: v.Request}, experiments, trials}, ""
}

// mostSubjects is the number of experiments or trials of a TensorBoard's form.
const mostSubjects = 100

// numbers reads numbers with commas or spaces between them.
func numbers(text string) (list []int32, ok bool) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n <= 0 || len(list) == mostSubjects {
			return nil, false
		}
		list = append(list, int32(n))
	}
	return list, true
}

func showStart(v *ui.Visit) error {
	in := readValues(v.URL.Query())
	in.Request = rand.Text()
	return showForm(v, in, "")
}

// showForm shows the form with values, and again with the problem in them.
func showForm(v *ui.Visit, in values, problem string) error {
	k, err := in.kind()
	if err != nil {
		return err
	}
	templates, err := v.API.Templates(v.Context())
	if err != nil {
		return err
	}
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	f := newForm(in, k, templates, pools)
	f.Problem = problem
	if problem != "" {
		return v.ShowInvalid(startPage, "Start a "+k.Noun, f)
	}
	return v.Show(startPage, "Start a "+k.Noun, f)
}

func newForm(in values, k kind, templates []*apiv1.Template, pools []*apiv1.ResourcePool) form {
	in.Kind = k.Noun
	f := form{values: in, HasProgram: k.program, HasSubjects: k.subjects, Templates: []option{{"", "none", in.Template == ""}}, Pools: []option{{"", "default", in.Pool == ""}}}
	for _, t := range startable {
		noun := kinds()[t].Noun
		f.Kinds = append(f.Kinds, option{noun, strings.ToUpper(noun[:1]) + noun[1:], noun == k.Noun})
	}
	for _, t := range templates {
		f.Templates = append(f.Templates, option{t.GetName(), t.GetName(), t.GetName() == in.Template})
	}
	for _, p := range pools {
		f.Pools = append(f.Pools, option{p.GetName(), p.GetName(), p.GetName() == in.Pool})
	}
	return f
}

func startTask(v *ui.Visit) error {
	in := readValues(v.PostForm)
	k, err := in.kind()
	if err != nil {
		return err
	}
	req, problem := in.request(k)
	if problem != "" {
		return showForm(v, in, problem)
	}
	made, err := k.start(v.Context(), v.API, req)
	if ui.IsInvalid(err) || client.KindOf(err) == client.NotFound {
		return showForm(v, in, ui.Sentence(err))
	}
	if err != nil {
		return err
	}
	message := "The " + k.Noun + " was started."
	if made.exceeds {
		message = "The " + k.Noun + " waits: there are fewer slots than it asks for."
	}
	if k.isPage {
		return v.Done(waitPath+made.id+"/", message)
	}
	return v.Done(Path(made.id), message)
}
