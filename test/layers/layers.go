// Package layers defines the architecture: the allowed imports of each package, the libraries that
// must not be reached from some of them, and the required package comments. The rules are the
// tables here; the tests compare them with the source.
package layers

import (
	"slices"
	"strings"
)

// Module is the path of this module.
const Module = "github.com/det-deploy/det-deploy/"

// Shared returns the packages that any package may import, because they depend on no other package
// of this module.
func Shared() []Row {
	return []Row{
		{"internal/atomicfile", nil, "putting a file in place as a whole is needed on every platform and in every role"},
		{"internal/pki", nil, "every platform makes certificates for its masters"},
		{"internal/checksum", nil, "programs and files are told by their content in every role"},
		{"internal/process", nil, "a process that was meant is signalled, by an installer, a master and an agent"},
		{"internal/stream", nil, "what passes into a container is the same for whoever holds an end of it"},
		{"internal/stream/frames", []string{"internal/stream"}, "each hop between a person and a container carries the same messages"},
		{"internal/wait", nil, "waiting for a time or an end is needed everywhere"},
		{"internal/excerpt", nil, "whoever repeats what was sent bounds it"},
		{"internal/spreadsheet", nil, "tables of a master, its pages and the command line are opened in spreadsheets"},
		{"internal/document", nil, "cluster.yaml, master.yaml, agent.yaml and task files are read by one decoder"},
		{"internal/document/naming", nil, "names that people give are judged alike for users, pools, tasks and settings"},
	}
}

// Row lists the packages of this module that one package, or all packages of a pattern, may import.
// "x/..." is x and all packages below it, "x/*" every package directly below x.
type Row struct {
	Package string
	May     []string
	// Why is the reason for the rule, which a failing test prints.
	Why string
}

// Rows returns one row for each package. The first match counts. A new dependency is a decision:
// add it together with its page in docs/adr.
func Rows() []Row {
	return slices.Concat(Shared(), commands(), install(), master(), agent(), host())
}

func commands() []Row {
	nobody := []string{}
	return []Row{
		{"cmd/det-deploy", []string{"cmd/internal/cli", "cmd/internal/cmd"}, "main is one statement, so that a test can call everything under it"},
		{"cmd/internal/build", nobody, "what a binary is called depends on nothing"},
		{"cmd/internal/usage", nobody, "everybody may refuse a command line"},
		{"cmd/internal/exit", []string{"cmd/internal/usage", "cloud", "installer/record"}, "it reads kinds of errors and nothing else"},
		{"cmd/internal/term", []string{"cmd/internal/usage", "installer/event", "internal/spreadsheet"}, "it draws what it is given"},
		{"cmd/internal/config", []string{"cloud/secret", "cmd/internal/usage"}, "it knows flags and variables, not what they configure"},
		{"cmd/internal/verdict", []string{"cmd/internal/command", "cmd/internal/term"}, "it tells what a document came to"},
		{"cmd/internal/contexts", []string{"cmd/internal/term", "cmd/internal/usage", "master/api/client"}, "it remembers masters and dials them"},
		{"cmd/internal/command", []string{"cmd/internal/contexts", "cmd/internal/directory", "cmd/internal/exit", "cmd/internal/show", "cmd/internal/term", "cmd/internal/usage", "master/api/client", "master/api/v1"}, "it makes commands, whatever they do"},
		{"cmd/internal/directory", []string{"cmd/internal/usage", "master/api/v1"}, "it reads what is sent"},
		{"cmd/internal/show", []string{"master/api/v1"}, "it has the words for what the API says"},
		{"cmd/internal/unit", []string{"cmd/internal/command", "cmd/internal/exit", "cmd/internal/term"}, "it installs a unit, whatever the role"},
		{"cmd/internal/logfile", []string{"internal/atomicfile"}, "a file is bounded, whatever is logged to it"},
		{"cmd/internal/wire", []string{"cmd/internal/build", "cmd/internal/logfile", "cmd/internal/term", "cmd/internal/wire/parts", "installer/...", "master/...", "agent/...", "cloud/...", "k8s/podinit", "templates"}, "it runs the roles, and has what clusters of all platforms share"},
		{"cmd/internal/wire/parts", []string{"cmd/internal/build", "master/...", "agent/config", "cloud/...", "k8s/...", "templates"}, "it is the one place that knows what stands behind a master's interfaces"},
		{"cmd/internal/wire/*", []string{"cmd/internal/build", "cmd/internal/term", "cmd/internal/wire", "installer/...", "master/config/helm", "cloud/...", "k8s/...", "templates"}, "it opens clusters of one platform, and knows no other"},
		{"cmd/internal/tree", []string{"cmd/internal/term", "cmd/internal/usage", "internal/document/naming"}, "it assembles commands, and knows none"},
		{"cmd/internal/cmd", []string{"cmd/internal/cmd/*", "cmd/internal/cluster/...", "cmd/internal/term", "cmd/internal/tree"}, "it lists all commands"},
		{"cmd/internal/cluster", []string{"cmd/internal/config", "cmd/internal/contexts", "internal/document", "cmd/internal/exit", "cmd/internal/show", "cmd/internal/term", "cmd/internal/usage", "installer/...", "master/api/..."}, "it has the verbs of clusters, for every platform; it names no platform"},
		{"cmd/internal/cluster/clouds", []string{"cmd/internal/cluster", "cmd/internal/config", "cmd/internal/contexts", "cmd/internal/term", "cmd/internal/usage", "cmd/internal/wire", "installer/...", "cloud", "cloud/secret", "cloud/resource", "internal/document"}, "it is what all clouds have in common; it names none"},
		{"cmd/internal/cluster/*", []string{"cmd/internal/cluster", "cmd/internal/cluster/clouds", "cmd/internal/build", "cmd/internal/logfile", "cmd/internal/unit", "master/api/...", "agent/config", "templates", "cmd/internal/config", "cmd/internal/contexts", "cmd/internal/term", "cmd/internal/usage", "cmd/internal/wire", "cmd/internal/wire/*", "installer/...", "cloud", "cloud/secret", "cloud/resource", "internal/document"}, "a platform of the verbs of clusters; it talks to wire and to the installer, never to a cloud or another platform"},
		{"cmd/internal/cmd/*", []string{"cmd/internal/build", "cmd/internal/command", "cmd/internal/config", "cmd/internal/contexts", "cmd/internal/directory", "cmd/internal/exit", "cmd/internal/show", "cmd/internal/term", "cmd/internal/unit", "cmd/internal/usage", "cmd/internal/verdict", "cmd/internal/wire", "installer/...", "internal/stream", "master/api/...", "master/config/...", "agent/config", "cloud", "cloud/resource", "internal/document", "master/experiment/config", "master/experiment/preview", "master/experiment/search", "master/task/spec", "templates"}, "a command talks to wire, to the installer or to a master, and asks pure functions; it never reaches into a role or a cloud"},
		{"cmd/internal/cli", []string{"cmd/internal/exit", "cmd/internal/term", "installer/event"}, "it turns signals and errors into an exit code"},
		{"templates", nobody, "what is written onto machines is data"},
		{"test/...", []string{"..."}, "tests may see everything"},
	}
}

func install() []Row {
	engine := []string{"cloud", "cloud/resource", "installer/event", "installer/plan", "master/api/..."}
	noSDK := "the engine knows resources, never a platform, so that its tests run in milliseconds"
	return []Row{
		{"cloud", nil, "the vocabulary of refusals is a leaf"},
		{"cloud/resource", []string{"cloud"}, "what a resource is says nothing of any platform"},
		{"cloud/machine", nil, "what an agent asks of the machine it runs on is a leaf; who answers knows the cloud"},
		{"cloud/secret", []string{"cloud"}, "references to secrets are a leaf"},
		{"cloud/edge", []string{"cloud"}, "which kind of refusal an answer is depends on no platform"},
		{"cloud/infra", []string{"cloud", "cloud/resource", "internal/wait"}, "what the resources of every platform have in common names none"},
		{"cloud/local", []string{"cloud", "cloud/resource", "cloud/machine"}, "a platform knows only the vocabulary, and what its machines say to prove themselves"},
		{"cloud/aws/machine", []string{"cloud", "cloud/secret", "cloud/machine", "cloud/host", "cloud/host/*", "cloud/aws/..."}, "it is the cloud of a machine's services"},
		{"cloud/aws/...", []string{"cloud", "cloud/edge", "cloud/infra", "cloud/resource", "cloud/secret", "cloud/aws/..."}, "a platform knows only the vocabulary and itself"},
		{"cloud/gcp/machinetype", nil, "how a machine with its GPUs is written is text, and no call"},
		{"cloud/gcp/machine", []string{"cloud", "cloud/machine", "cloud/host", "cloud/host/*", "cloud/gcp/..."}, "it is the cloud of a machine's services"},
		{"cloud/gcp/properties", []string{"internal/document/naming"}, "how a person writes a machine in Google's form is text, and no call"},
		{"cloud/gcp/...", []string{"cloud", "cloud/edge", "cloud/infra", "cloud/resource", "cloud/secret", "cloud/gcp/..."}, "a platform knows only the vocabulary and itself"},
		{"k8s/...", []string{"cloud", "cloud/resource", "k8s/...", "internal/stream", "internal/wait", "master/policy", "master/rm", "master/queue", "master/queue/passes", "master/api/...", "templates"}, "Kubernetes is a platform and a resource manager"},
		{"installer/event", []string{"cloud"}, noSDK},
		{"installer/plan", engine, noSDK},
		{"installer/apply", engine, noSDK},
		{"installer/doctor", engine, noSDK},
		{"installer/record", engine, noSDK},
		{"installer/spec", []string{"master/config/...", "agent/config", "cloud", "cloud/secret", "cloud/gcp/machinetype", "cloud/gcp/properties"}, "cluster.yaml is a document"},
		{"installer/hosted/*", []string{"installer/doctor", "installer/record", "installer/spec", "cloud", "cloud/resource", "cloud/host/manifest", "master/api/..."}, "a part of a hosted cluster knows neither the whole nor a cloud"},
		{"installer/hosted", []string{"installer", "installer/hosted/*", "installer/doctor", "installer/record", "installer/spec", "cloud", "cloud/resource", "cloud/secret", "cloud/host/manifest", "master/config/...", "master/api/...", "agent/config"}, "what is the same for clusters in every cloud names no cloud"},
		{"installer/target/local/*", nil, "it supervises processes, whatever they are"},
		{"installer/target/local", target("local"), "a target turns what is wanted into resources of its own platform"},
		{"installer/target/aws/control", []string{"cloud", "cloud/resource", "cloud/aws/...", "installer/record", "installer/hosted"}, "the control bucket is made before the lease, and knows no cluster.yaml"},
		{"installer/target/gcp/control", []string{"cloud", "cloud/infra", "cloud/gcp/...", "installer/record", "installer/hosted"}, "the control bucket is made before the lease, and knows no cluster.yaml"},
		{"installer/target/aws/layout", []string{"cloud", "cloud/aws/...", "installer/hosted", "installer/hosted/*", "installer/spec"}, "where machines are is asked and chosen before anything is wanted"},
		{"installer/target/aws/checks", []string{"cloud", "cloud/infra", "cloud/aws/...", "installer/doctor", "installer/hosted", "installer/hosted/*", "installer/spec", "installer/target/aws/control", "installer/target/aws/layout"}, "a check looks, and wants no resource"},
		{"installer/target/gcp/layout", []string{"cloud", "cloud/gcp/...", "installer/hosted", "installer/hosted/*", "installer/spec"}, "where machines are is asked and chosen before anything is wanted"},
		{"installer/target/gcp/checks", []string{"cloud", "cloud/infra", "cloud/gcp/...", "installer/doctor", "installer/hosted", "installer/hosted/*", "installer/spec", "installer/target/gcp/control", "installer/target/gcp/layout"}, "a check looks, and wants no resource"},
		{"installer/target/aws", target("aws"), "a target turns what is wanted into resources of its own platform"},
		{"installer/target/gcp", target("gcp"), "a target turns what is wanted into resources of its own platform"},
		{"installer/target/k8s/chart", []string{"cloud"}, "values of a chart need no cluster"},
		{"installer/target/k8s", append(target("k8s"), "installer/target/k8s/chart", "k8s/helm", "k8s/kube", "k8s/doctor", "k8s/explain"), "a target turns what is wanted into resources of its own platform"},
		{"installer", []string{"cloud", "cloud/resource", "installer/apply", "installer/doctor", "installer/event", "installer/plan", "installer/record", "installer/spec", "master/api/..."}, noSDK},
	}
}

// target returns the allowed imports of installer/target/<name>.
func target(name string) []string {
	return []string{
		"installer", "installer/doctor", "installer/event", "installer/plan", "installer/record", "installer/spec",
		"installer/hosted/...", "installer/target/" + name + "/...", "cloud", "cloud/infra", "cloud/resource", "cloud/secret", "cloud/" + name + "/...",
		"master/config/...", "master/api/...", "agent/config", "cloud/host/manifest", "templates",
	}
}

func master() []Row {
	leaves := []string{"master/api/v1", "master/api/agentv1", "master/api/status", "master/config/...", "master/policy", "master/rm", "master/token", "cloud", "cloud/secret", "templates"}
	with := func(more ...string) []string { return append(append([]string{}, leaves...), more...) }
	leaf := "it is a leaf, so that both ends of a connection may import it"
	return []Row{
		{"master/api/v1", nil, leaf},
		{"master/api/status", nil, leaf},
		{"master/api/agentv1", []string{"master/api/v1"}, leaf},
		{"master/api/password", nil, leaf},
		{"master/api/client", []string{"internal/stream", "internal/stream/frames", "master/api/password", "master/api/v1", "master/api/status"}, leaf},
		{"master/policy", []string{"master/api/v1", "master/api/agentv1"}, "what a task may do to its machine is a pure function; master, agents and Kubernetes ask it"},
		{"master/config/translate", nil, "old forms are turned into new ones before anything has a type"},
		{"master/config/security", []string{"cloud/secret", "master/api/password"}, "security is a part of master.yaml"},
		{"master/config/provider", []string{"cloud/gcp/machinetype", "cloud/gcp/properties"}, "how machines are launched is a part of master.yaml, in Google's form too"},
		{"master/config/container", []string{"master/policy", "cloud/secret"}, "what containers get is a part of master.yaml"},
		{"master/config", []string{"master/config/*", "master/policy", "cloud/secret"}, "master.yaml is a leaf: the installer writes what the master reads"},
		{"master/config/helm", []string{"master/config", "master/config/container", "master/config/provider", "master/config/security", "master/policy", "cloud/secret"}, "the chart's values are a master.yaml under other names"},
		{"master/rm", []string{"internal/stream", "master/api/v1", "master/api/agentv1"}, "tasks ask without knowing whom"},
		{"master/queue/passes", []string{"internal/wait"}, "when a scheduler looks again is the same for all resource managers"},
		{"master/queue", []string{"master/rm", "master/api/v1"}, "which job is served before which is the same for all resource managers, and pure"},
		{"master/token", nil, "both ends of the link check papers with it"},
		{"master", []string{"master/...", "agent/config", "cloud", "cloud/secret"}, "it assembles a master; what needs the SDK of a platform is given to it"},
		{"master/pool", nil, "who runs where is a pure function"},
		{"master/elastic", []string{"cloud"}, "how many machines there should be is a pure function"},
		{"master/store", []string{"master/store/archive", "master/store/database"}, "it keeps bytes under keys and knows no meaning"},
		{"master/store/archive", nil, "the file of a backup is nothing of a database's own"},
		{"master/store/database", nil, "what SQLite and PostgreSQL differ in is known in one place"},
		{"master/log", with("master/store", "master/quota"), "it keeps lines, whoever asks"},
		{"master/metric", []string{"master/store", "master/quota", "master/api/status"}, "it keeps what trials report, whoever asks"},
		{"master/quota", []string{"master/store", "master/api/status"}, "it counts bytes and does not know what they are"},
		{"master/accounting", with("internal/spreadsheet", "master/store"), "it keeps what was used, whoever asks"},
		{"master/metric/series", with("master/experiment", "master/experiment/*", "master/metric", "master/store"), "it shows clients what trials reported"},
		{"master/audit", with("master/store"), "it keeps who did what, whoever says so"},
		{"master/auth", with("master/api/password", "master/share", "master/store"), "it knows users, not what they do"},
		{"master/bundle", with("master/quota", "master/store", "master/task/archive"), "it keeps files, whatever they are sent with"},
		{"master/task/idle", []string{"master/rm"}, "it counts uses, whoever the task serves"},
		{"master/task/jupyter", []string{"master/api/v1"}, "files, and nothing about tasks"},
		{"master/task/petname", nil, "names depend on nothing"},
		{"master/task/archive", leaves, "pure functions on a task's files"},
		{"master/task/spec", leaves, "pure functions from what users wrote"},
		{"master/task/lifecycle", leaves, "a state machine is drawn, tabled and pure"},
		{"master/task", with("master/bundle", "master/quota", "master/store", "master/accounting", "master/log", "master/task/*", "master/workspace"), "tasks know the resource manager's interface only"},
		{"master/experiment/hparam", nil, "which values a seed draws depends on nothing"},
		{"master/experiment/search", []string{"master/experiment/hparam"}, "which trials an experiment runs is a pure function"},
		{"master/experiment/config", []string{"master/config", "master/config/container", "master/experiment/hparam", "master/experiment/search", "master/task/spec", "cloud/secret"}, "pure functions from what users wrote"},
		{"master/experiment/lifecycle", nil, "a state machine is drawn, tabled and pure"},
		{"master/experiment/record", []string{"master/api/status", "master/api/v1", "master/config/security", "master/experiment/lifecycle", "master/experiment/search", "master/store"}, "what is kept of experiments says what it means by their states and searches"},
		{"master/experiment/program", with("master/experiment/config", "master/task/spec"), "what the programs of experiments are given is a pure function"},
		{"master/experiment/change", []string{"master/experiment/config", "master/experiment/lifecycle", "master/experiment/record", "master/experiment/search"}, "what a piece of news makes of an experiment is decided without clock, store and tasks"},
		{"master/experiment/definition", []string{"master/api/v1", "master/api/status", "master/experiment/record", "master/store", "master/task/archive"}, "files that come with experiments are kept apart from what is decided about them"},
		{"master/experiment/preview", []string{"master/experiment/config", "master/experiment/search"}, "what an experiment will be is a pure function"},
		{"master/workspace", with("master/store", "master/experiment/config"), "it knows what tasks and experiments belong to, not what they do"},
		{"master/model", with("master/store", "master/workspace", "master/checkpoint"), "it keeps names of checkpoints; it knows neither trials nor tasks"},
		{"master/template", with("master/store", "master/workspace"), "it keeps parts of configurations, whoever takes them"},
		{"master/experiment", with("master/bundle", "master/quota", "master/experiment/*", "master/checkpoint", "master/metric", "master/store", "master/task", "master/task/archive", "master/task/petname", "master/task/spec", "master/log", "master/task/lifecycle", "master/workspace"), "experiments know tasks, checkpoints and metrics; who serves them knows experiments"},
		{"master/checkpoint/keep", nil, "which checkpoints stay is a pure function"},
		{"master/checkpoint/storage", []string{"master/config"}, "files are read and packed wherever they are"},
		{"master/checkpoint/view", with("master/store", "master/checkpoint", "master/checkpoint/storage", "master/experiment", "master/experiment/record", "master/metric"), "what clients see of checkpoints is made of what is stored, and serves no HTTP"},
		{"master/checkpoint", with("master/store", "master/checkpoint/keep", "master/checkpoint/storage", "master/experiment/config", "master/experiment/program", "master/experiment/lifecycle", "master/experiment/record", "master/metric", "master/task", "master/task/*", "internal/wait"), "it keeps checkpoints and what refers to them; who refers imports it"},
		{"master/launcher", with("master/store", "master/pool", "master/elastic"), "it carries out what master/elastic decides, on whatever launches machines"},
		{"master/agentrm/workqueue", nil, "it knows no work"},
		{"master/agentrm/link", []string{"master/api/agentv1", "master/rm"}, "it carries messages and does not know what they are about"},
		{"master/agentrm/streams", []string{"internal/excerpt", "internal/stream", "internal/stream/frames", "master/api/agentv1", "master/rm", "master/token"}, "it joins what agents open and does not know what runs there"},
		{"master/agentrm", with("internal/stream", "master/agentrm/streams", "master/share", "master/store", "master/pool", "master/elastic", "master/queue", "master/queue/passes", "master/agentrm/link", "master/agentrm/workqueue"), "it runs allocations and does not know what a task is"},
		{"master/admission", []string{"master/api/...", "master/agentrm", "master/agentrm/link", "master/audit", "master/auth", "master/launcher", "master/rm", "master/server", "master/token", "cloud"}, "who may join is decided where users, launches and the audit log meet"},
		{"master/provision", []string{"master/api/agentv1", "master/config/...", "agent/config"}, "what a launched agent is given is a pure function of master.yaml"},
		{"master/certificate", []string{"master/config/...", "cloud/secret"}, "a certificate is opened as the settings say, whoever shows it"},
		{"master/share", nil, "how clients share places depends on no kind of place"},
		{"master/server/body", nil, "it takes a body apart and knows no call"},
		{"master/server/guard", []string{"master/api/status", "master/server/body", "master/share"}, "it stands before calls and knows none"},
		{"master/server/query", []string{"master/api/status", "master/api/v1"}, "it reads the parameters of a call and knows none"},
		{"master/experiment/view", with("master/checkpoint", "master/experiment", "master/experiment/*", "master/log", "master/metric", "master/store", "master/workspace"), "it shows clients what experiments keep"},
		{"master/tensorboard", with("master/checkpoint", "master/experiment", "master/experiment/config", "master/experiment/lifecycle", "master/experiment/program", "master/experiment/record", "master/store", "master/task", "master/task/*"), "it shows files of experiments by a task; neither knows it"},
		{"master/shell", []string{"internal/stream", "internal/stream/frames", "master/rm", "master/store"}, "it speaks SSH and does not know what a shell is for"},
		{"master/notebook", []string{"internal/wait", "master/rm", "master/task", "master/task/idle", "master/task/jupyter", "master/task/spec"}, "it asks programs of notebooks and does not know who may use them"},
		{"master/proxy", []string{"master/api/status", "master/api/v1", "master/rm", "master/server/guard", "master/task", "master/task/jupyter", "master/token"}, "it forwards requests and does not know what a service does"},
		{"master/harness", []string{"master/config/..."}, "wheels are files that the settings name"},
		{"master/server", with("internal/stream", "internal/stream/frames", "master/store", "master/accounting", "master/auth", "master/checkpoint/storage", "master/checkpoint/view", "master/experiment/lifecycle", "master/experiment/record", "master/log", "master/task", "master/task/lifecycle", "master/certificate", "master/server/body", "master/server/guard", "master/server/query", "master/share"), "it speaks HTTP and decides nothing"},
		{"master/pages/plot", nil, "a drawing is a pure function of numbers and texts"},
		{"master/pages/ui", []string{"internal/excerpt", "master/api/client", "master/api/v1"}, "a page is a client of the API, and reads no store"},
		{"master/pages/logview", []string{"master/api/client", "master/api/v1", "master/pages/ui"}, "it shows a log, whatever wrote it"},
		{"master/pages/*", []string{"internal/excerpt", "internal/spreadsheet", "master/api/client", "master/api/password", "master/api/v1", "master/pages/curve", "master/pages/hparam", "master/pages/logview", "master/pages/plot", "master/pages/ui"}, "a page is a client of the API, and reads no store"},
		{"master/pages", []string{"master/pages/*"}, "it lists the pages"},
	}
}

func agent() []Row {
	may := []string{"master/api/v1", "master/api/agentv1", "master/policy", "master/token", "agent/config", "agent/*", "agent/container/*", "cloud/machine"}
	cloudless := "an agent is told by its master what to run and knows nothing else of it"
	return []Row{
		{"agent/config", nil, "agent.yaml is a leaf: the installer and the master write what the agent reads"},
		{"agent/lifecycle", []string{"master/api/v1", "master/api/agentv1"}, "a state machine is drawn, tabled and pure"},
		{"agent/container", []string{"internal/stream"}, "a runtime is defined by who uses it"},
		{"agent/container/*", []string{"agent/container", "agent/container/inside", "internal/stream"}, "a runtime knows the contract, and what enters a container"},
		{"agent/...", may, cloudless},
	}
}

func host() []Row {
	return []Row{
		{"cloud/host/disk", nil, "putting files onto a machine knows none"},
		{"cloud/host/manifest", nil, "the installer writes what a machine reads: it is a leaf"},
		{"cloud/host/...", []string{"cloud", "cloud/secret", "cloud/host/*", "cloud/machine", "templates"}, "a machine's services ask any cloud through an interface"},
	}
}

// Ban forbids a library to some packages and to all their dependencies.
type Ban struct {
	From string
	// Library lists import paths; one that ends in "/" includes all below it.
	Library []string
	Why     string
}

// Bans returns the libraries that must not be reached.
func Bans() []Ban {
	cloudSDKs := []string{"github.com/aws/", "cloud.google.com/", "google.golang.org/api/", "helm.sh/", "k8s.io/", "sigs.k8s.io/"}
	terminals := []string{"charm.land/", "github.com/charmbracelet/", "github.com/pterm/", "github.com/spf13/viper"}
	databases := []string{"modernc.org/", "github.com/jackc/", "database/sql"}
	engine := "the engine's tests must not wait for an SDK to be built, nor its users for one to be asked"
	return []Ban{
		{"agent/...", cloudSDKs, "an agent is told by its master what to run; one that asks a cloud cannot be tested, or moved, without it"},
		{"cloud/host/...", cloudSDKs, "a machine's services ask any cloud through an interface, and know none"},
		{"agent/...", databases, "an agent keeps files; its master keeps the database"},
		{"agent/...", terminals, "an agent speaks log/slog"},
		{"master/...", terminals, "a master speaks log/slog"},
		{"installer", cloudSDKs, engine},
		{"installer/plan", cloudSDKs, engine},
		{"installer/apply", cloudSDKs, engine},
		{"installer/record", cloudSDKs, engine},
		{"installer/doctor", cloudSDKs, engine},
		{"master/api/...", append(append(cloudSDKs, terminals...), databases...), "everybody imports the API's messages and its client"},
		{"master/pool", append(cloudSDKs, databases...), "who runs where is a pure function"},
		{"master/elastic", append(cloudSDKs, databases...), "how many machines there should be is a pure function"},
	}
}

// Home restricts the direct import of a library to some packages; these may pass it on to others.
type Home struct {
	// Library is an import path; one that ends in "/" includes all below it.
	Library string
	Of      []string
	Why     string
}

// Homes returns the libraries with restricted imports.
func Homes() []Home {
	tests := []string{"test/..."}
	return []Home{
		{"k8s.io/client-go/", append([]string{"k8s/...", "cmd/internal/term"}, tests...), "a move of client-go touches the packages that speak to Kubernetes, and nothing that uses them; term has its jsonpath, a text format"},
		{"charm.land/huh/", []string{"cmd/internal/term"}, "forms are asked in one place, which also has the lines for who cannot see them"},
		{"charm.land/", []string{"cmd/internal/term", "cmd/internal/cmd/top"}, "what is drawn is drawn by term; top is a model that term runs, and a wrapper around it would be bubbletea's API again"},
		{"github.com/charmbracelet/", []string{"cmd/internal/term"}, "widths and sequences are term's"},
		{"github.com/pterm/", []string{"cmd/internal/term"}, "tables and colours are term's, which knows what each stream may show"},
		{"testing", tests, "what only tests use is no part of the product, and lies with the tests"},
		{"helm.sh/", []string{"k8s/helm"}, "Helm has an end of support; replacing it touches one package"},
		{"github.com/google/go-containerregistry/", append([]string{"k8s/registry"}, tests...), "images are read, written and pushed in one place"},
	}
}

// Find returns the first row that matches a package.
func Find(rows []Row, pkg string) (Row, bool) {
	for _, r := range rows {
		if Match(r.Package, pkg) {
			return r, true
		}
	}
	return Row{}, false
}

// Match reports whether a pattern matches a package.
func Match(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == top || strings.HasPrefix(pkg, top+"/")
	}
	if top, ok := strings.CutSuffix(pattern, "/*"); ok {
		rest, below := strings.CutPrefix(pkg, top+"/")
		return below && !strings.Contains(rest, "/")
	}
	return pattern == pkg
}

// Allowed reports whether a row allows its package to import another.
func (r Row) Allowed(pkg string) bool {
	_, shared := Find(Shared(), pkg)
	return shared || slices.ContainsFunc(r.May, func(may string) bool { return Match(may, pkg) })
}
