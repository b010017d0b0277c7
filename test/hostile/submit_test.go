package hostile_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"
)

// submission is a task with a request that is forbidden to ordinary users. It has succeeded if it
// is accepted and its script exits with 0.
type submission struct {
	name   string
	config map[string]any
	raw    []entry
	// text is a shell script like those of scripts.
	text string
	// landed is a pattern that matches a file of the machine if the submission has succeeded.
	landed string
	// nobody means that the request is forbidden to administrators too; otherwise it must succeed
	// for an administrator.
	nobody bool
}

const (
	asksPaths   = "to mount paths of the machine"
	asksDevices = "devices and capabilities"
	asksFiles   = "to write elsewhere by the files that come with a task"
	asksSecrets = "secrets by references and variables"
	asksSense   = "what makes no sense: sizes, ports, names, priorities"
)

func mountOf(host, inside string) map[string]any {
	return map[string]any{"bind_mounts": []any{map[string]any{"host_path": host, "container_path": inside}}}
}

func environment(key string, value any) map[string]any {
	return map[string]any{"environment": map[string]any{key: value}}
}

func resources(key string, value any) map[string]any {
	return map[string]any{"resources": map[string]any{key: value}}
}

// mounts are mounts of host paths; {cluster} is the directory of the cluster's files.
func mounts(at where) []submission {
	var all []submission
	for _, m := range []struct {
		path, text string
		nobody     bool
	}{
		{"/", "ls MNT/etc/shadow", true},
		{"/etc", "ls MNT/shadow", true},
		{"/root", "ls -d MNT/.", false},
		{"//etc", "ls MNT/shadow", true},
		{"/etc/", "ls MNT/shadow", true},
		{"/usr/../etc", "ls MNT/shadow", true},
		{"/proc", "ls MNT/1/cmdline", true},
		{"/sys", "ls MNT/kernel", false},
		{"/dev", "ls MNT/kmsg", false},
		{"/etc/shadow", "head -c 1 MNT >/dev/null", false},
		{"/home", "ls -d MNT/.", false},
		{"/var", "ls MNT/lib", true},
		{"/tmp", "ls -d MNT/.", true},
		{"{cluster}", "ls MNT/master.yaml", true},
		{"{cluster}/master", "ls MNT/master.db", true},
		{"{cluster}/agent-a", "ls MNT/credential", true},
		{"{cluster}/agent-a/credential", "head -c 1 MNT >/dev/null", true},
		{"{cluster}/./agent-a/", "ls MNT/credential", true},
		{"{cluster}/master/../agent-a", "ls MNT/credential", true},
		{"{cluster}/link", "ls MNT/credential", true},
		{"/proc/self/root{cluster}/agent-a", "ls MNT/credential", true},
		{"/proc/{agent-pid}/root{cluster}/agent-a", "ls MNT/credential", true},
		{"{engine}", "[ -S MNT ]", true},
		{"{engine-dir}", "ls MNT | grep -q sock", true},
		{"/var/run/docker.sock", "[ -S MNT ]", true},
		{"/run/containerd", "ls MNT | grep -q sock", true},
	} {
		if at != docker && (strings.Contains(m.path, "engine") || strings.Contains(m.path, "sock") || strings.Contains(m.path, "containerd")) {
			continue
		}
		inside := "/mnt/host"
		text := strings.ReplaceAll(m.text, "MNT", inside)
		if at == process {
			text = strings.ReplaceAll(m.text, "MNT", `"$AT"`)
		}
		config := mountOf(m.path, inside)
		if m.path == "/" || m.path == "/tmp" {
			// The engine of the test is below it and accepts no other propagation there.
			config["bind_mounts"].([]any)[0].(map[string]any)["propagation"] = "rslave"
		}
		config["environment"] = map[string]any{"environment_variables": []string{"AT=" + inside}}
		all = append(all, submission{name: "mounts " + m.path, config: config, text: text, nobody: m.nobody})
	}
	return all
}

// asks are forbidden configurations other than mounts.
var asks = []submission{
	{name: "adds SYS_ADMIN", config: environment("add_capabilities", []string{"SYS_ADMIN"}), text: hasCapability(21)},
	{name: "adds CAP_SYS_PTRACE", config: environment("add_capabilities", []string{"CAP_SYS_PTRACE"}), text: hasCapability(19)},
	{name: "adds sys_module", config: environment("add_capabilities", []string{"sys_module"}), text: hasCapability(16)},
	{name: "adds NET_ADMIN", config: environment("add_capabilities", []string{"NET_ADMIN"}), text: hasCapability(12)},
	{name: "adds DAC_READ_SEARCH", config: environment("add_capabilities", []string{"DAC_READ_SEARCH"}), text: hasCapability(2)},
	{name: "adds ALL", config: environment("add_capabilities", []string{"ALL"}), text: hasCapability(21), nobody: true},
	{name: "takes /dev/kmsg", config: resources("devices", []string{"/dev/kmsg:/dev/kmsg:rwm"}), text: `[ -c /dev/kmsg ] && dd if=/dev/kmsg bs=8192 count=1 of=/dev/null 2>/dev/null || [ -c /dev/kmsg ]`},
	{name: "takes /dev/kmsg under another name", config: resources("devices", []string{"/dev/kmsg:/dev/k:rwm"}), text: `[ -c /dev/k ]`},
	{name: "takes /dev/../dev/kmsg", config: resources("devices", []string{"/dev/../dev/kmsg:/dev/k:rwm"}), text: `[ -c /dev/k ]`},
	{name: "takes a disk", config: resources("devices", []string{"{disk}:/dev/disk:rwm"}), text: `[ -b /dev/disk ]`},
	{name: "takes /dev/fuse as an object", config: resources("devices", []any{map[string]any{"host_path": "/dev/fuse", "container_path": "/dev/f", "mode": "rwm"}}), text: `[ -c /dev/f ]`},
}

// hasCapability returns a script that checks for an effective capability by its number.
func hasCapability(bit int) string {
	return fmt.Sprintf(`c=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status); [ $(( (0x$c >> %d) & 1 )) = 1 ]`, bit)
}

// senseless are configurations that must be rejected on submission; being accepted is success.
var senseless = map[string]map[string]any{
	"-1 slots": resources("slots", -1), "a billion slots": resources("slots", 1_000_000_000), "a fraction of a slot": resources("slots", 0.5),
	"priority 0": resources("priority", 0), "priority 100": resources("priority", 100), "priority -1": resources("priority", -1),
	"a weight of 0": resources("weight", 0), "a weight below 0": resources("weight", -5), "a pool that is not there": resources("resource_pool", "../default"),
	"a pool with a line": resources("resource_pool", "default\nx"), "max_slots below slots": {"resources": map[string]any{"slots": 2, "max_slots": 1}},
	"shared memory below 0": resources("shm_size", -1), "shared memory of text": resources("shm_size", "1x"),
	"a port of 0": environment("ports", map[string]any{"a": 0}), "a port of 70000": environment("ports", map[string]any{"a": 70000}),
	"a proxy port below 0":      environment("proxy_ports", []any{map[string]any{"proxy_port": -1}}),
	"a variable without a name": environment("environment_variables", []string{"=x"}), "a relative work_dir": {"work_dir": "../../etc"},
	"a mount of a relative path": mountOf("../etc", "/mnt"), "a mount over nothing": mountOf("/tmp", ""), "a mount with odd propagation": {"bind_mounts": []any{map[string]any{"host_path": "/tmp", "container_path": "/mnt", "propagation": "everywhere"}}},
	"a key of resources that is not there": resources("cpus", 1), "a key of a mount that is not there": {"bind_mounts": []any{map[string]any{"host_path": "/tmp", "container_path": "/mnt", "writable": true}}},
	"a key that is not there": {"privileged": true}, "a key of upstream's inner workings": {"security": map[string]any{"privileged": true}},
	"a user of its own": {"user": "root"}, "a host network": {"network_mode": "host"}, "an entrypoint that is a mapping": {"entrypoint": map[string]any{"a": 1}},
	"max_slots below 0": resources("max_slots", -1), "max_slots of text": resources("max_slots", "all"), "max_slots of its neighbours": resources("max_slots_per_pod", 1),
	"defaults of all tasks": {"task_container_defaults": map[string]any{"startup_hook": "id"}}, "a hook before it starts": {"startup_hook": "id"},
	"a hook of the agent": {"hooks": map[string]any{"on_start": []string{"id"}}}, "a policy of its own": {"task_policy": map[string]any{"privileged": true}},
	"an image of options": environment("image", "--privileged"), "an image behind a dash": environment("image", "-v"), "an image behind a blank": environment("image", " -v /:/host"),
	"an image and an option": environment("image", "python --privileged"), "an image and a line": environment("image", "python\n--privileged"), "an image and a NUL": environment("image", "python\x00"),
	"an image and a command": environment("image", "python;id"), "an image of a variable": environment("image", "$(id)"), "an image by a path": environment("image", "../../etc"),
	"an image by an address": environment("image", "https://registry.example.com/python"), "an image with a login": environment("image", "admin:password@registry.example.com/python"),
	"an image with a short digest": environment("image", "python@sha256:0"), "an image with a digest of no kind": environment("image", "python@evil:"+strings.Repeat("0", 64)),
	"an image with two digests": environment("image", "python@sha256:"+strings.Repeat("0", 64)+"@sha256:"+strings.Repeat("1", 64)),
	"an image with two tags":    environment("image", "python:a:b"), "an image of GPUs with an option": environment("image", map[string]any{"cuda": "--gpus=all"}),
	"an image of a kilobyte": environment("image", strings.Repeat("a", 1024)),
	"a single node":          resources("is_single_node", true), "a mount over its own work": mountOf("/tmp", "."), "an agent by name": resources("agent_label", "a"),
}

// entry is a file of a task's context directory before it is encoded.
type entry struct {
	path    string
	kind    rune
	content string
}

func encoded(entries []entry, fill func(string) string) []map[string]any {
	var all []map[string]any
	for _, e := range entries {
		all = append(all, map[string]any{
			"path": fill(e.path), "type": e.kind, "mode": 0o4777, "content": base64.StdEncoding.EncodeToString([]byte(fill(e.content))),
		})
	}
	return all
}

// archives are context directories with files that must not be written elsewhere, by path and
// content. LAND is a path of the machine below {cluster}.
func archives() map[string][]entry {
	up := strings.Repeat("../", 24)
	return map[string][]entry{
		"a path that climbs":               {{up + "LAND", '0', "x"}},
		"an absolute path":                 {{"/LAND", '0', "x"}},
		"a path that climbs later":         {{"a/b/" + up + "LAND", '0', "x"}},
		"a path with backslashes":          {{strings.ReplaceAll(up, "/", `\`) + "LAND", '0', "x"}},
		"a link and a file in it":          {{"l", '2', "/"}, {"l/LAND", '0', "x"}},
		"a link to the directory":          {{"l", '2', "{cluster}"}, {"l/{file}", '0', "x"}},
		"a relative link and a file in it": {{"l", '2', up}, {"l/LAND", '0', "x"}},
		"a link and a file of its name":    {{"l", '2', "/LAND"}, {"l", '0', "x"}},
		"a link of a link":                 {{"l", '2', "/"}, {"m", '2', "l"}, {"m/LAND", '0', "x"}},
		"a link and a directory in it":     {{"l", '2', "/"}, {"l/LAND", '5', ""}},
		"a hard link":                      {{"l", '1', "/LAND"}},
		"a device":                         {{"l", '3', ""}, {"/LAND", '3', ""}},
		"a block device":                   {{"/LAND", '4', ""}},
		"a pipe":                           {{"/LAND", '6', ""}},
		"an unknown kind":                  {{"/LAND", 'x', "x"}},
		"a directory that climbs":          {{up + "LAND", '5', ""}},
		"a link that climbs":               {{up + "LAND", '2', "/etc/shadow"}},
		"a path through the first process": {{"/proc/1/root/LAND", '0', "x"}},
		"a path through its own root":      {{"/proc/self/root/LAND", '0', "x"}},
		"a path with a NUL":                {{"/LAND\x00.txt", '0', "x"}},
		"an empty path":                    {{"", '0', "x"}, {"/LAND", '0', "x"}},
		"the tokens' place":                {{"../../../etc/LAND", '0', "x"}},
	}
}

// submitAttempts are tasks with forbidden requests, for a runtime.
func submitAttempts(at where) []attempt {
	var all []attempt
	add := func(wants string, s submission) {
		a := attempt{
			name: "a task on " + string(at) + " " + s.name, who: user, where: at, wants: wants,
			try: func(ctx context.Context, w *world) outcome { return w.submit(ctx, "mallory", s) },
		}
		if !s.nobody && at == docker {
			a.control = &control{"an administrator's task " + s.name, func(ctx context.Context, w *world) outcome { return w.submit(ctx, "admin", s) }}
		}
		all = append(all, a)
	}
	for _, s := range mounts(at) {
		add(asksPaths, s)
	}
	for _, s := range asks {
		add(asksDevices, s)
	}
	number := 0
	for name, entries := range archives() {
		number++
		add(asksFiles, submission{name: "brings " + name, raw: entries, text: "true", landed: fmt.Sprintf("landed-%s-%d", at, number), nobody: true})
	}
	add(asksFiles, submission{
		name: "has a loader write where root may", text: "true", landed: fmt.Sprintf("loader-%s.*", at), nobody: true,
		config: environment("environment_variables", []string{"LD_DEBUG=files", fmt.Sprintf("LD_DEBUG_OUTPUT={cluster}/loader-%s", at)}),
	})
	place := "place-" + string(at)
	add(asksFiles, submission{name: "has a place made for a mount", config: mountOf("/usr/share", "{cluster}/"+place), text: "true", landed: place, nobody: true})
	if at == docker {
		all = append(all, imageAttempts()...)
	}
	add(asksSecrets, submission{name: "names a variable of the agent", config: environment("environment_variables", []string{"AGENT_SECRET"}), text: `[ -n "$AGENT_SECRET" ]`, nobody: true})
	for _, name := range []string{"password", "auth", "identitytoken", "registrytoken", "username"} {
		all = append(all, followed(at, name))
	}
	return append(all, survivors(at)...)
}

// otherImages are images other than those that the policy of a world allows, in spellings that may
// be mistaken for one of them.
var otherImages = map[string]string{
	"of another registry": "evil.example/team/x", "of no registry": "ubuntu", "whose name goes on": "registry.example.com/teamwork/x",
	"whose registry goes on": "registry.example.com.evil.example/team/x", "of another port": "registry.example.com:5000/team/x",
	"of another name of the hub": "docker.io/library/ubuntu", "by the number of one that is there": "{image-id}",
	"by the digits of one that is there": "{image-digits}", "by few digits of one that is there": "{image-few}",
	"by the digest of another": "evil.example/team@sha256:" + strings.Repeat("0", 64), "of GPUs": "evil.example/gpu",
}

// imageAttempts request images that the policy does not allow.
func imageAttempts() []attempt {
	var all []attempt
	for name, image := range otherImages {
		a := taken("a task on docker runs an image "+name, "an image that the policy does not allow", environment("image", image))
		a.where, a.control = docker, allowedImage
		all = append(all, a)
	}
	return all
}

// allowedImage checks that mallory can run an allowed image.
var allowedImage = &control{"mallory runs an image by its name", func(ctx context.Context, w *world) outcome {
	return w.submit(ctx, "mallory", submission{config: environment("image", "{image}"), text: "true"})
}}

// senselessAttempts are the same on every runtime.
func senselessAttempts() []attempt {
	var all []attempt
	for name, config := range senseless {
		all = append(all, taken("a task asks for "+name, asksSense, config))
	}
	return all
}

// taken returns an attempt that succeeds if its configuration is accepted.
func taken(name, wants string, config map[string]any) attempt {
	return attempt{
		name: name, who: user, where: anywhere, wants: wants, control: launches,
		try: func(ctx context.Context, w *world) outcome {
			t := task{script: "true", config: config}
			if _, found := config["entrypoint"]; found {
				t.script = ""
			}
			return w.carryOut(ctx, call{"POST", "/api/v1/commands", t.body(w), bearing(w.tokens["mallory"])})
		},
	}
}

// launches checks that mallory can run tasks without special requests.
var launches = &control{"mallory runs a task", func(ctx context.Context, w *world) outcome {
	return w.submit(ctx, "mallory", submission{text: "true"})
}}

// submitLimit limits the wait for the end of such a task. On Kubernetes a pod that is accepted but
// cannot start waits forever.
const submitLimit = 90 * time.Second

// submit runs a submission as a user and reports whether it succeeded.
func (w *world) submit(ctx context.Context, by string, s submission) outcome {
	ctx, cancel := context.WithTimeout(ctx, submitLimit)
	defer cancel()
	fill := func(text string) string {
		text = strings.ReplaceAll(text, "LAND", strings.TrimPrefix(w.names["cluster"], "/")+"/"+s.landed)
		return w.fill(strings.ReplaceAll(text, "{file}", s.landed))
	}
	t := task{script: "if " + s.text + "; then echo VERDICT gained; else echo VERDICT failed; fi", config: w.withVariables(s.config), raw: encoded(s.raw, fill)}
	a, err := w.do(ctx, call{"POST", "/api/v1/commands", t.body(w), bearing(w.tokens[by])})
	if err != nil {
		return isUntried(err)
	}
	if !a.ok() {
		return isRefused("%s", a)
	}
	var reply struct{ Command struct{ ID string } }
	if err := json.Unmarshal(a.body, &reply); err != nil {
		return isUntried(err)
	}
	id := reply.Command.ID
	said, err := w.line(ctx, by, id, "VERDICT ")                                                                         // a task that cannot start writes nothing
	_, _ = w.do(context.WithoutCancel(ctx), call{"POST", "/api/v1/commands/" + id + "/kill", "", bearing(w.tokens[by])}) // it may have ended
	got := said == "gained"
	if s.landed != "" { // not on Kubernetes, whose node's files are not visible here
		found, _ := filepath.Glob(filepath.Join(w.cluster.Dir, s.landed)) // the pattern is valid
		got, said = len(found) > 0, s.landed
	}
	if !got && w.where != kubernetes && errors.Is(err, context.DeadlineExceeded) {
		return isUntried(err)
	}
	return gained(got, "%s %v", said, err)
}

func (w *world) withVariables(config map[string]any) map[string]any {
	c := maps.Clone(config)
	if c == nil {
		c = map[string]any{}
	}
	e, _ := c["environment"].(map[string]any)
	e = maps.Clone(e)
	if e == nil {
		e = map[string]any{}
	}
	mine, _ := e["environment_variables"].([]string)
	e["environment_variables"] = append([]string{"CLUSTER_DIR=" + w.env["CLUSTER_DIR"]}, mine...)
	c["environment"] = e
	return c
}
