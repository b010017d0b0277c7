package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
)

// echo responds with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	b, _ := httputil.DumpRequest(r, true)
	_, _ = w.Write(b)
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func bearer(text string) string { return "Authorization: Bearer " + text }

func TestWhoMayVisit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 8888, http.HandlerFunc(echo))
	w.run("t2", 8888, http.HandlerFunc(echo))
	w.run("public", 80, http.HandlerFunc(echo))
	open := w.services["public"]
	open.Unauthenticated = true
	w.services["public"] = open
	adminsTask := w.services["t2"]
	adminsTask.Owner = 1
	w.services["t2"] = adminsTask
	w.run("board", 2600, http.HandlerFunc(echo))
	board := adminsTask
	board.Task, board.Container, board.Port, board.Public = "board", w.services["board"].Container, 2600, true
	w.services["board"] = board
	_, inTask, err := w.taskTokens()
	if err != nil {
		t.Fatal(err)
	}
	owner, admin := w.login("determined"), w.login("admin")
	for name, row := range map[string]struct {
		path    string
		headers []string
		want    int
	}{
		"nobody":                              {"/proxy/t1/", nil, 401},
		"the owner with a token":              {"/proxy/t1/", []string{bearer(owner)}, 200},
		"by port":                             {"/proxy/t1:8888/", []string{bearer(owner)}, 200},
		"by another port":                     {"/proxy/t1:8889/", []string{bearer(owner)}, 404},
		"an administrator":                    {"/proxy/t1/", []string{bearer(admin)}, 200},
		"another user":                        {"/proxy/t2/", []string{bearer(owner)}, 403},
		"a token inside a task":               {"/proxy/t1/", []string{bearer(inTask)}, 401},
		"an invalid token":                    {"/proxy/t1/", []string{bearer("dduser1_x")}, 401},
		"a ticket in a cookie":                {"/proxy/t1/", []string{"Cookie: det_ticket=" + w.ticket("determined", "t1")}, 200},
		"a ticket of another service":         {"/proxy/t1/", []string{"Cookie: det_ticket=" + w.ticket("determined", "t1:8888")}, 401},
		"another user's ticket":               {"/proxy/t2/", []string{"Cookie: det_ticket=" + w.ticket("determined", "t2")}, 403},
		"a planted cookie beside the ticket":  {"/proxy/t1/", []string{"Cookie: det_ticket=x; det_ticket=" + w.ticket("determined", "t1")}, 200},
		"a ticket in a request of a page":     {"/proxy/t1/?token=" + w.ticket("determined", "t1"), []string{"Sec-Fetch-Mode: cors"}, 200},
		"a login opens a page":                {"/proxy/t1/", []string{"Cookie: auth=" + owner}, 303},
		"a login in a request of a page":      {"/proxy/t1/", []string{"Cookie: auth=" + owner, "Sec-Fetch-Mode: cors"}, 401},
		"a login beside a planted one":        {"/proxy/t1/", []string{"Cookie: auth=x; auth=" + owner}, 401},
		"a login of another user":             {"/proxy/t2/", []string{"Cookie: auth=" + owner}, 403},
		"a TensorBoard of another user":       {"/proxy/board/", []string{bearer(owner)}, 200},
		"a TensorBoard without login":         {"/proxy/board/", nil, 401},
		"anyone, without authentication":      {"/proxy/public/", nil, 200},
		"no service":                          {"/proxy/t3/", []string{bearer(owner)}, 404},
		"no name":                             {"/proxy//", []string{bearer(owner)}, 404},
		"a name with a path":                  {"/proxy/t1%2f../", []string{bearer(owner)}, 404},
		"a port beyond":                       {"/proxy/t1:99999/", []string{bearer(owner)}, 404},
		"the name without a slash":            {"/proxy/t1", []string{bearer(owner)}, 303},
		"a token of the service's own scheme": {"/proxy/t1/", []string{"Authorization: token abc"}, 401},
	} {
		if res := w.get(row.path, row.headers...); res.StatusCode != row.want {
			t.Errorf("%s: got %d %s, want %d", name, res.StatusCode, body(t, res), row.want)
		}
	}
}

func (w *world) taskTokens() (own, user string, err error) {
	a, u, err := w.auth.TaskTokens(w.t.Context(), 2, "t1.1")
	return string(a), string(u), err
}

func TestTicketInAnAddressBecomesACookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(echo))
	res := w.get("/proxy/t1/a%20b?x=%201&token=" + w.ticket("determined", "t1") + "&y")
	if got, want := res.Header.Get("Location"), "/proxy/t1/a%20b?x=%201&y"; res.StatusCode != 303 || got != want {
		t.Fatalf("got %d to %q, want %q", res.StatusCode, got, want)
	}
	c := res.Cookies()[0]
	if c.Path != "/proxy/t1/" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Name != "det_ticket" {
		t.Errorf("got %+v, want a cookie for the service alone", c)
	}
	if !slices.Equal(w.entered, []string{"determined t1"}) {
		t.Errorf("got entries %q", w.entered)
	}
	if res := w.get("/proxy/t1/", "Cookie: det_ticket="+c.Value); res.StatusCode != 200 {
		t.Errorf("got %d with the cookie, want 200", res.StatusCode)
	}
	// Opened again with the cookie, an address whose ticket has ended is no obstacle.
	if res := w.get("/proxy/t1/?token=ddticket1.old", "Cookie: det_ticket="+c.Value); res.StatusCode != 200 {
		t.Errorf("got %d with an old address, want 200", res.StatusCode)
	}
}

func TestServicesGetNoCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(echo))
	ticket, token := w.ticket("determined", "t1"), w.login("determined")
	for name, headers := range map[string][]string{
		"a bearer token": {bearer(token)},
		"all cookies": {
			"Cookie: det_ticket=" + ticket + "; auth=" + token + "; mine=1; theirs=" + token,
			"Grpc-Metadata-X-Allocation-Token: Bearer " + token,
			"Referer: " + w.server.URL + "/proxy/t1/?token=" + ticket,
		},
	} {
		got := body(t, w.get("/proxy/t1/?token="+ticket+"&x=1", append(headers, "Sec-Fetch-Mode: cors")...))
		if !strings.HasPrefix(got, "GET /proxy/t1/?x=1 HTTP/1.1") {
			t.Errorf("%s: the service gets %q", name, got)
		}
		for _, secret := range []string{ticket, token, "det_ticket", "auth="} {
			if strings.Contains(got, secret) {
				t.Errorf("%s: the service gets %q", name, got)
			}
		}
	}
	own := body(t, w.get("/proxy/t1/?token=own", "Cookie: det_ticket="+ticket+"; mine=1", "Authorization: token abc"))
	for _, kept := range []string{"mine=1", "Authorization: token abc", "?token=own", "X-Real-Ip: 127.0.0.1", "X-Forwarded-Proto: http", "Host: " + strings.TrimPrefix(w.server.URL, "http://")} {
		if !strings.Contains(own, kept) {
			t.Errorf("the service does not get %q but %q", kept, own)
		}
	}
}

func TestServicesCannotAffectOtherPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for _, c := range []string{
			"auth=planted; Path=/", "det_ticket=planted", "__Host-x=1; Path=/; Secure", "a=1; Path=/; Domain=example.com", "b=2; Path=/proxy/t1/lab", "c=3; Path=/proxy/t2/",
		} {
			rw.Header().Add("Set-Cookie", c)
		}
		rw.Header().Set("Clear-Site-Data", `"cookies"`)
		rw.Header().Set("Service-Worker-Allowed", "/")
		rw.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		rw.Header().Set("Strict-Transport-Security", "max-age=1")
		rw.Header().Set("Content-Type", "text/x")
	}))
	res := w.get("/proxy/t1/", bearer(w.login("determined")))
	want := []string{"a=1; Path=/proxy/t1/", "b=2; Path=/proxy/t1/lab", "c=3; Path=/proxy/t1/"}
	if got := res.Header["Set-Cookie"]; !slices.Equal(got, want) {
		t.Errorf("got cookies %q, want %q", got, want)
	}
	for _, name := range []string{"Clear-Site-Data", "Cross-Origin-Opener-Policy", "Service-Worker-Allowed", "Strict-Transport-Security"} {
		if res.Header.Get(name) != "" {
			t.Errorf("the header %s passes", name)
		}
	}
	if res.Header.Get("Content-Type") != "text/x" {
		t.Error("other headers do not pass")
	}
}

func TestPathsAreForwardedUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, r.RequestURI) }))
	token := w.login("determined")
	for _, path := range []string{"/proxy/t1/", "/proxy/t1/a%2Fb", "/proxy/t1//a//", "/proxy/t1/a/../b", "/proxy/t1/?a=1;b&c", "/proxy/t1/%E2%82%AC?q=%zz"} {
		if got := body(t, w.get(path, bearer(token))); got != path {
			t.Errorf("got %q, want %q", got, path)
		}
	}
}

func TestAddressesWithoutASlash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for path, want := range map[string]string{"/proxy/t1": "/proxy/t1/", "/proxy/t1?token=x&a=1": "/proxy/t1/?token=x&a=1", "/proxy/t1:80?a;b": "/proxy/t1:80/?a;b"} {
		if res := w.get(path); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != want {
			t.Errorf("%s: got status %d and %q, want %q", path, res.StatusCode, res.Header.Get("Location"), want)
		}
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.listen("t1", 80, "127.0.0.1:1")
	token := w.login("determined")
	for text, failure := range map[string]error{
		"does not answer at port 80 of its container": nil,
		"the container of service t1 is not running":  fmt.Errorf("dial: %w", rm.ErrNotRunning),
		"too many connections":                        rm.ErrTooManyStreams,
		"upgrade agent a":                             &rm.UnreachableError{Reason: "upgrade agent a"},
	} {
		w.failures["container-of-t1"] = failure
		if res := w.get("/proxy/t1/", bearer(token)); res.StatusCode < 400 || !strings.Contains(body(t, res), text) {
			t.Errorf("got %d without %q", res.StatusCode, text)
		}
	}
}

func TestBrowsersAreSentToTheOriginOfServices(t *testing.T) {
	t.Parallel()
	const browser, request = "Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: cors"
	const site = "Sec-Fetch-Site: none"
	for origin, host := range map[string]string{"https://services.example.com": "services.example.com", "https://*.example.net:8443": "t1.example.net:8443"} {
		w := newWorld(t, parse(t, origin))
		w.run("t1", 80, http.HandlerFunc(echo))
		token := w.login("determined")
		res := w.get("/proxy/t1/lab?x=1", browser, site, "Cookie: auth="+token)
		at, _, _ := strings.Cut(res.Header.Get("Location"), "&token=ddticket1.")
		if want := "https://" + host + "/proxy/t1/lab?x=1"; res.StatusCode != 303 || at != want {
			t.Errorf("got %d to %q, want %q with a ticket", res.StatusCode, at, want)
		}
		if res := w.get("/proxy/t1/", request, site, "Cookie: det_ticket="+w.ticket("determined", "t1")); res.StatusCode != 403 {
			t.Errorf("got %d for a request of a page at the wrong name, want 403", res.StatusCode)
		}
		if res := w.get("/proxy/t1/", bearer(token)); res.StatusCode != 200 {
			t.Errorf("got %d for a client that is no browser, want 200", res.StatusCode)
		}
		if res := w.get("/proxy/t1/", browser, site, "Host: "+host, "Cookie: auth="+token); res.StatusCode != 401 {
			t.Errorf("got %d for a login at the name of services, want 401", res.StatusCode)
		}
		if res := w.get("/proxy/t1/", request, site, "Host: "+host, "Cookie: det_ticket="+w.ticket("determined", "t1")); res.StatusCode != 200 {
			t.Errorf("got %d at the name of services, want 200", res.StatusCode)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"": "/proxy/t1:80/", "https://services.example.com": "https://services.example.com/proxy/t1:80/", "https://*.example.net": "https://t1-80.example.net/proxy/t1:80/",
	} {
		w := newWorld(t, parse(t, origin))
		w.run("t1", 80, http.HandlerFunc(echo))
		for name, code := range map[string]status.Code{"determined": 0, "admin": 0, "other": status.PermissionDenied} {
			u := w.user(name)
			address, err := w.proxy.Open(t.Context(), u, w.login("admin"), "t1:80")
			at, _, ticket := strings.Cut(address, "?token=ddticket1.")
			if err != nil && status.Of(err) != code || (err == nil) != (code == 0) || code == 0 && (at != want || !ticket) {
				t.Errorf("%s: got %q and %v, want %q with a ticket", name, address, err, want)
			}
		}
		for _, none := range []string{"t1:81", "t2", "", "t1/../t2", "t1:x"} {
			if _, err := w.proxy.Open(t.Context(), w.user("admin"), w.login("admin"), none); status.Of(err) != status.NotFound {
				t.Errorf("%q: got %v, want not found", none, err)
			}
		}
	}
}

func TestHostNamesOfServices(t *testing.T) {
	t.Parallel()
	for origin, hosts := range map[string]map[string]bool{
		"":                             {"": false, "det.example.com": false},
		"https://Services.example.com": {"services.example.com": true, "SERVICES.example.com": true, "det.example.com": false, "a.services.example.com": false},
		"https://*.example.net:8443":   {"a.example.net:8443": true, "a.example.net": false, "example.net:8443": false},
	} {
		p := newWorld(t, parse(t, origin)).proxy
		for host, want := range hosts {
			if p.IsServiceHost(host) != want {
				t.Errorf("%q at origin %q: got %t", host, origin, !want)
			}
		}
	}
}
