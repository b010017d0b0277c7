package hostile_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// aim is an attacker and the intended gain.
type aim struct {
	who   who
	wants string
}

// sent returns an attempt that consists of one call by a user; it succeeds with a 2xx response.
func sent(name string, a aim, as string, c call, proof *control) attempt {
	return attempt{
		name: name, who: a.who, where: anywhere, wants: a.wants, control: proof,
		try: func(ctx context.Context, w *world) outcome {
			if as != "" {
				c.header = bearing(w.tokens[as])
			}
			return w.carryOut(ctx, c)
		},
	}
}

// may returns a control that checks that a user can make a call.
func may(as string, c call) *control {
	return &control{as + " may " + c.method + " " + c.path + " " + c.body, func(ctx context.Context, w *world) outcome {
		if as != "" {
			c.header = bearing(w.tokens[as])
		}
		return w.carryOut(ctx, c)
	}}
}

func patch(user, body string) call {
	return call{method: "PATCH", path: "/api/v1/users/" + user, body: body}
}

// userAttempts are made by users who try to gain privileges.
func userAttempts() []attempt {
	const climb, others = "to become an administrator, or root on agents", "to change another user"
	admin := may("admin", patch("{eve}", `{"displayName": "Eve", "agentUserGroup": {"agentUid": 1234, "agentGid": 1234, "agentUser": "eve", "agentGroup": "eve"}}`))
	var all []attempt
	for name, body := range map[string]string{
		"admin": `{"admin": true}`, "admin beside a name": `{"displayName": "M", "admin": true}`,
		"admin twice": `{"admin": false, "admin": true}`, "an id of root": `{"agentUserGroup": {"agentUid": 0, "agentGid": 0, "agentUser": "root", "agentGroup": "root"}}`,
		"an id of root in the other spelling": `{"agent_user_group": {"agent_uid": 0, "agent_gid": 0, "agent_user": "root", "agent_group": "root"}}`,
		"another name":                        `{"username": "admin2"}`, "remote": `{"remote": true}`, "active": `{"active": true}`,
	} {
		all = append(all, sent("mallory patches herself: "+name, aim{user, climb}, "mallory", patch("{mallory}", body), admin))
	}
	for name, body := range map[string]string{
		"a wrapper": `{"user": {"admin": true}}`, "another spelling": `{"is_admin": true, "isAdmin": true, "Admin": true, "ADMIN": true}`,
		"a prototype": `{"__proto__": {"admin": true}}`, "a second document": `{"displayName": "M"}{"admin": true}`,
	} {
		all = append(all, attempt{
			name: "mallory patches herself in " + name, who: user, where: anywhere, wants: climb, control: admin,
			try: func(ctx context.Context, w *world) outcome { return w.becomesAdmin(ctx, patch("{mallory}", body)) },
		})
	}
	for _, whose := range []string{"{alice}", "{admin}", "0", "-1", "{alice}%20", "+{alice}", "0{alice}", "{mallory}/../{alice}"} {
		for name, body := range map[string]string{
			"a name": `{"displayName": "taken"}`, "a password": `{"password": "Taken-Over-1"}`, "no activity": `{"active": false}`,
		} {
			all = append(all, sent("mallory gives "+name+" to user "+whose, aim{user, others}, "mallory", patch(whose, body), admin))
		}
	}
	for as, by := range map[string]who{"grace-task": userTask, "admin-task": adminTask} {
		for name, body := range map[string]string{
			"a password": `{"password": "Taken-Over-1", "currentPassword": "` + userPassword + `"}`, "a name": `{"displayName": "taken"}`, "an administrator": `{"admin": true}`,
		} {
			all = append(all, sent("a task patches an account with "+name+" by the token "+as, aim{by, "to keep an account by a task's token"}, as, patch("{grace}", body), admin))
		}
	}
	for name, body := range map[string]string{
		"an empty one":                 `{"password": "Without-Old-1", "currentPassword": ""}`,
		"a wrong one":                  `{"password": "Without-Old-1", "currentPassword": "Wrong-Wrong-1"}`,
		"a wrong one, spelt otherwise": `{"password": "Without-Old-1", "current_password": "Wrong-Wrong-1"}`,
		"the new one":                  `{"password": "Without-Old-1", "currentPassword": "Without-Old-1"}`,
		"a hash of nothing":            `{"password": "Without-Old-1", "currentPassword": "", "isHashed": true}`,
	} {
		all = append(all, attempt{
			name: "who found mallory's token changes her password, giving as the old one " + name, who: user, where: anywhere,
			wants: "a password without the old one",
			try:   func(ctx context.Context, w *world) outcome { return w.changesPassword(ctx, body) },
		})
	}
	queue := func(body string) call {
		return call{method: "POST", path: "/api/v1/job-queues", body: `{"updates": [{"jobId": "{job}", ` + body + `}]}`}
	}
	limits := may("admin", queue(`"maxSlots": 8`))
	for name, body := range map[string]string{
		"no slots": `"maxSlots": 1`, "all slots": `"maxSlots": 0`, "slots below 0": `"maxSlots": -1`, "slots, in the other spelling": `"max_slots": 1`, "weight": `"weight": 0.1`,
	} {
		all = append(all, sent("mallory gives alice's job "+name, aim{user, others}, "mallory", queue(body), limits))
	}
	for name, body := range map[string]string{
		"slots below 0": `"maxSlots": -1`, "slots beyond all numbers": `"maxSlots": 99999999999`, "a weight that is no number": `"weight": "NaN"`,
		"an endless weight": `"weight": "Infinity"`, "a weight of 0": `"weight": 0`,
	} {
		all = append(all, sent("a job is given "+name, aim{deceived, asksSense}, "admin", queue(body), limits))
	}
	audit := may("admin", call{method: "GET", path: "/api/v1/audit"})
	for _, method := range []string{"DELETE", "PUT", "PATCH", "POST"} {
		for _, path := range []string{"/api/v1/audit", "/api/v1/audit/1"} {
			all = append(all, sent(method+" "+path, aim{covering, "to change what the audit log says"}, "admin", call{method: method, path: path, body: "{}"}, audit))
		}
	}
	return append(all, nameAttempts()...)
}

// becomesAdmin makes a call as mallory and checks whether she is an administrator.
func (w *world) becomesAdmin(ctx context.Context, c call) outcome {
	c.header = bearing(w.tokens["mallory"])
	if _, err := w.do(ctx, c); err != nil {
		return isUntried(err)
	}
	var me struct{ User struct{ Admin bool } }
	if err := w.try(ctx, "mallory", call{method: "GET", path: "/api/v1/me"}, &me); err != nil {
		return isUntried(err)
	}
	return gained(me.User.Admin, "admin is %v", me.User.Admin)
}

// changesPassword uses a separate user, because a change ends the user's other logins.
func (w *world) changesPassword(ctx context.Context, body string) outcome {
	c := patch("{frank}", body)
	c.header = bearing(w.tokens["frank"])
	a, err := w.do(ctx, c)
	if err == nil && a.ok() {
		w.must(ctx, "admin", call{method: "PATCH", path: "/api/v1/users/{frank}", body: document(map[string]any{"password": userPassword})}, nil)
		w.login(ctx, "frank", "frank", userPassword)
	}
	return a.judge(err)
}

// nameAttempts use names that look like another's, or that break their display.
func nameAttempts() []attempt {
	const alike, breaking = "an account whose name looks like another's", "to break what shows a name"
	named := may("admin", call{method: "POST", path: "/api/v1/users", body: `{"user": {"username": "somebody-{mark}", "active": true}, "password": "Some-Body-42"}`})
	var all []attempt
	for name, text := range map[string]string{
		"capitals": "Admin", "a space after": "admin ", "a space before": " admin", "a zero width space": "adm\u200bin",
		"a right-to-left override": "\u202enimda", "an isolate": "admin\u2066", "a soft hyphen": "ad\u00admin", "full width": "ａｄｍｉｎ",
		"a NUL": "admin\x00", "a line": "admin\n", "a tab": "admin\t", "a no-break space": "admin\u00a0", "a joiner": "admin\u200d",
		"a byte order mark": "\ufeffadmin", "a mark": "admin\u034f", "a variation": "admin\ufe0f",
		"a Cyrillic letter": "\u0430dmin", "a Greek letter": "admi\u03b7", "a dotless letter": "adm\u0131n", "small capitals": "\u1d00\u1d05min",
		"a letter of its own": "ⓐdmin", "a filler": "admin\u3164", "a ligature": "admⅰn",
	} {
		body := document(map[string]any{"user": map[string]any{"username": text, "active": true}, "password": userPassword})
		all = append(all, sent("a user is called admin with "+name, aim{deceived, alike}, "admin",
			call{method: "POST", path: "/api/v1/users", body: body}, named))
	}
	foreign := may("admin", call{method: "POST", path: "/api/v1/users", body: `{"user": {"username": "анна", "active": true}, "password": "Some-Body-42"}`})
	for name, text := range map[string]string{"letters of two alphabets": "\u0430strid", "alice's letters of one other alphabet": "\u0430\u04cf\u0456\u0441\u0435"} {
		body := document(map[string]any{"user": map[string]any{"username": text, "active": true}, "password": userPassword})
		all = append(all, sent("a user is called by "+name, aim{deceived, alike}, "admin", call{method: "POST", path: "/api/v1/users", body: body}, foreign))
	}
	shown := may("mallory", patch("{mallory}", `{"displayName": "Mallory"}`))
	for name, text := range map[string]string{
		"admin": "admin", "Admin": "Admin", "admin in full width": "ａｄｍｉｎ", "admin with a mark": "admin\u034f", "admin with a Cyrillic letter": "\u0430dmin", "Alice": "Alice", "alice in bold": "𝐚𝐥𝐢𝐜𝐞",
	} {
		all = append(all, sent("mallory is shown as "+name, aim{user, alike}, "mallory", patch("{mallory}", document(map[string]any{"displayName": text})), shown))
	}
	for name, text := range map[string]string{
		"a right-to-left override": "\u202eyrollaM", "an escape sequence": "M\x1b[2J\x1b[31m", "lines": "M\nadmin logged in", "a carriage return": "M\radmin",
		"an isolate": "M\u2067", "megabytes": strings.Repeat("M", 900_000), "a NUL": "M\x00",
	} {
		all = append(all, sent("mallory's display name has "+name, aim{user, breaking}, "mallory", patch("{mallory}", document(map[string]any{"displayName": text})), shown))
		body := task{script: "true", config: map[string]any{"description": text}}
		all = append(all, attempt{
			name: "a task's description has " + name, who: user, where: anywhere, wants: breaking,
			try: func(ctx context.Context, w *world) outcome {
				return w.carryOut(ctx, call{"POST", "/api/v1/commands", body.body(w), bearing(w.tokens["mallory"])})
			},
		})
	}
	return all
}

// loginAttempts are made by strangers and former users who try to get a token.
func loginAttempts() []attempt {
	const wants = "a login without the password"
	login := may("", call{method: "POST", path: "/api/v1/auth/login", body: `{"username": "alice", "password": "` + userPassword + `"}`})
	var all []attempt
	for name, body := range map[string]string{
		"a blank password": `{"username": "admin", "password": ""}`, "no password": `{"username": "admin"}`, "a null": `{"username": "admin", "password": null}`,
		"a blank hash": `{"username": "admin", "password": "", "isHashed": true}`, "a password as its hash": `{"username": "alice", "password": "` + userPassword + `", "isHashed": true}`,
		"a number": `{"username": "admin", "password": 0}`, "true": `{"username": "admin", "password": true}`, "a list": `{"username": ["admin"], "password": [""]}`,
		"an object": `{"username": {"$ne": ""}, "password": {"$ne": ""}}`, "a quote": `{"username": "admin' OR '1'='1", "password": "' OR '1'='1"}`,
		"a comment": `{"username": "admin'--", "password": "x"}`, "the name as password": `{"username": "admin", "password": "admin"}`,
		"the other built-in user, blank": `{"username": "determined", "password": ""}`, "the other built-in user": `{"username": "determined", "password": "determined"}`,
		"a user by number": `{"username": "{admin}", "password": ""}`, "nobody": `{"username": "", "password": ""}`,
		"a NUL behind the name": `{"username": "alice\u0000", "password": "Wrong-One-1"}`, "two names": `{"username": "mallory", "username": "admin", "password": "` + userPassword + `"}`,
		"a password that begins right": `{"username": "alice", "password": "` + userPassword[:8] + `"}`, "a password that goes on": `{"username": "alice", "password": "` + userPassword + `\u0000x"}`,
		"a token as password": `{"username": "admin", "password": "dduser1_AAAA"}`,
	} {
		all = append(all, sent("login with "+name, aim{stranger, wants}, "", call{method: "POST", path: "/api/v1/auth/login", body: body}, login))
	}
	for _, from := range []struct{ name, path, method string }{
		{"GET", "/api/v1/auth/login?username=admin&password=", "GET"}, {"PUT", "/api/v1/auth/login", "PUT"}, {"another path", "/login", "POST"},
	} {
		all = append(all, sent("login by "+from.name, aim{stranger, wants}, "", call{method: from.method, path: from.path, body: `{"username": "admin"}`}, login))
	}
	all = append(all, sent("a deactivated user logs in", aim{former, "a way back"}, "",
		call{method: "POST", path: "/api/v1/auth/login", body: `{"username": "carol", "password": "` + userPassword + `"}`}, login))
	all = append(all, sent("a deactivated user wakes herself", aim{former, "a way back"}, "carol", patch("{carol}", `{"active": true}`), login))
	for name, end := range map[string]string{
		"a password change": `{"password": "Another-One-1"}`, "deactivation": `{"active": false}`,
	} {
		for _, what := range []string{"login", "task's user token"} {
			all = append(all, attempt{
				name: "a " + what + " after " + name, who: former, where: anywhere, wants: "a way back", control: login,
				try: func(ctx context.Context, w *world) outcome { return w.outlives(ctx, end, what == "login") },
			})
		}
	}
	return all
}

// outlives reports success if a token of eve is still valid after a change of her account, and
// gives her a new one.
func (w *world) outlives(ctx context.Context, change string, login bool) outcome {
	token := w.tokens["eve-task"]
	if login {
		token = w.tokens["eve"]
	}
	me := call{"GET", "/api/v1/me", "", bearing(token)}
	before, err := w.do(ctx, me)
	if err != nil || !before.ok() {
		return outcome{untried, before.String()}
	}
	if err := w.try(ctx, "admin", call{method: "PATCH", path: "/api/v1/users/{eve}", body: change}, nil); err != nil {
		return isUntried(err)
	}
	after := w.carryOut(ctx, me)
	w.must(ctx, "admin", call{method: "PATCH", path: "/api/v1/users/{eve}", body: document(map[string]any{"active": true, "password": userPassword})}, nil)
	w.login(ctx, "eve", "eve", userPassword)
	w.name("eve-task", w.talk(ctx, "eve", "eve", talker+"exec sleep 86400"))
	return after
}

// privateAttempts look for the secret of alice's task.
func privateAttempts() []attempt {
	const wants = "a secret of another user's task"
	var all []attempt
	for _, path := range []string{
		"/api/v1/commands/{task}", "/api/v1/commands", "/api/v1/tasks/{task}", "/api/v1/tasks", "/api/v1/tasks/{task}/context_directory",
		"/api/v1/tasks/{task}/logs", "/api/v1/tasks/{task}/logs?limit=1000", "/api/v1/tasks/{task}/logs?orderBy=ORDER_BY_DESC",
		"/api/v1/tasks/{task}/logs?stdtypes=stdout", "/api/v1/tasks/{task}/logs?afterId=0", "/api/v1/tasks/{task}/logs/fields",
		"/api/v1/job-queues-v2?resourcePool=default", "/api/v1/agents", "/api/v1/master/logs", "/metrics",
	} {
		for as, by := range map[string]who{"mallory": user, "mallory-task": userTask, "": stranger} {
			if as == "" && path != "/metrics" {
				continue // these are covered by apiAttempts
			}
			if as != "" && path == "/metrics" {
				continue
			}
			all = append(all, attempt{
				name: "GET " + path + " as " + strings.TrimSpace("user "+as), who: by, where: anywhere, wants: wants, control: sees("/api/v1/commands/{task}"),
				try: func(ctx context.Context, w *world) outcome {
					var h http.Header
					if as != "" {
						h = bearing(w.tokens[as])
					}
					a, err := w.do(ctx, call{"GET", path, "", h})
					if err != nil {
						return isUntried(err)
					}
					return gained(w.has(a.body), "%s", a)
				},
			})
		}
	}
	return all
}

// sees checks that alice finds her own secret there.
func sees(path string) *control {
	return &control{"alice sees her secret at " + path, func(ctx context.Context, w *world) outcome {
		a, err := w.do(ctx, call{"GET", path, "", bearing(w.tokens["alice"])})
		if err != nil {
			return isUntried(err)
		}
		return gained(w.has(a.body), "%s", a)
	}}
}

// has reports whether a response contains the secret. A context directory is an archive and counts
// as one.
func (w *world) has(body []byte) bool {
	var archive struct{ B64Tgz []byte }
	if json.Unmarshal(body, &archive) == nil && len(archive.B64Tgz) > 0 {
		return true
	}
	return strings.Contains(string(body), w.secret)
}
