package into_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/rest"
)

// Each request is one for the service at most, whatever it contains, and none is one of the API.
func TestNoRequestIsSmuggled(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	w := newWorld(t)
	s := w.serve(false)
	other := w.serve(false)
	const inner = "GET /proxy/%s/smuggled HTTP/1.1\nHost: det\n\n"
	smuggled := fmt.Sprintf(inner, s.task)
	chunked := fmt.Sprintf("%x\n%s\n0\n\n", len(strings.ReplaceAll(smuggled, "\n", "\r\n")), smuggled)
	head := func(line string) string { return line + " HTTP/1.1\n" + w.headers() + "Connection: close\n" }
	at := s.path
	for name, row := range map[string]struct {
		request string
		want    string // one of these begins the answer, or it is empty
	}{
		"a length and chunks":           {head("POST "+at("1")) + "Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n" + smuggled, "HTTP/1.1 200|HTTP/1.1 400"},
		"two lengths":                   {head("POST "+at("2")) + "Content-Length: 0\nContent-Length: 70\n\n" + smuggled, "HTTP/1.1 400"},
		"an unknown coding":             {head("POST "+at("3")) + "Transfer-Encoding: xchunked\n\n" + smuggled, "HTTP/1.1 501"},
		"a hidden coding":               {head("POST "+at("4")) + "Transfer-Encoding : chunked\n\n" + chunked, "HTTP/1.1 400"},
		"a folded coding":               {head("POST "+at("5")) + "X: y\n Transfer-Encoding: chunked\nContent-Length: 0\n\n", "HTTP/1.1 200|HTTP/1.1 400"},
		"two hosts":                     {"GET " + at("6") + " HTTP/1.1\n" + w.headers() + "Host: other\nConnection: close\n\n", "HTTP/1.1 400"},
		"a complete address":            {"GET http://elsewhere.example" + at("7") + " HTTP/1.1\n" + w.headers() + "Connection: close\n\n", "HTTP/1.1 200"},
		"dots":                          {head("GET "+at("../../api/v1/users")) + "\n", "HTTP/1.1 200"},
		"encoded dots":                  {head("GET "+at("%2e%2e/%2e%2e/api/v1/users")) + "\n", "HTTP/1.1 200"},
		"encoded slashes":               {head("GET "+at("..%2f..%2fapi%2fv1%2fusers")) + "\n", "HTTP/1.1 200"},
		"a name with a path":            {head("GET /proxy/"+other.task+"%2f..%2f"+s.task+"/8") + "\n", "HTTP/1.1 404"},
		"another service behind dots":   {head("GET /proxy/"+s.task+"/../"+other.task+"/9") + "\n", "HTTP/1.1 200"},
		"a line break in the path":      {head("GET "+at("10%0d%0aX: y")) + "\n", "HTTP/1.1 200|HTTP/1.1 400"},
		"the end of a line in a header": {head("GET "+at("11")) + "X: a\rGET: b\n\n", "HTTP/1.1 400"},
		"connect":                       {head("CONNECT "+at("12")) + "\n", "HTTP/1.1 200|HTTP/1.1 40"},
		"connect to the API":            {head("CONNECT 127.0.0.1:80") + "\n", "HTTP/1.1 40"},
		"HTTP/2 without an upgrade":     {"PRI * HTTP/2.0\n\nSM\n\n", "HTTP/1.1 4|HTTP/1.1 5|\x00"},
		"HTTP/2 by an upgrade":          {"GET " + at("13") + " HTTP/1.1\n" + w.headers() + "Connection: Upgrade, HTTP2-Settings, close\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\n\n", "HTTP/1.1 200"},
		"an upgrade that nobody wants":  {head("GET "+at("switch")) + "\n", "HTTP/1.1 502"},
		"a pipelined request without":   {"GET " + at("14") + " HTTP/1.1\n" + w.headers() + "\nGET " + at("smuggled") + " HTTP/1.1\nHost: det\nConnection: close\n\n", "HTTP/1.1 200"},
		"a redirect":                    {head("GET "+at("elsewhere")) + "\n", "HTTP/1.1 302"},
	} {
		said := w.raw(row.request)
		begins := false
		for want := range strings.SplitSeq(row.want, "|") {
			begins = begins || strings.HasPrefix(said, want)
		}
		if !begins || strings.Contains(said, "smuggled") || strings.Contains(said, `"users"`) || strings.Contains(said, "planted") {
			t.Errorf("%s: got %.300q, want %s", name, said, row.want)
		}
	}
	log := w.Run("task", "logs", s.task)
	if strings.Contains(log, "/smuggled") || strings.Contains(log, "credential") {
		t.Errorf("the service got\n%s", log)
	}
	if log := w.Run("task", "logs", other.task); strings.Contains(log, "request") {
		t.Errorf("another service got\n%s", log)
	}
	w.answers(s, "afterwards")
}

// Another user reaches nothing of a task.
func TestOtherUsersReachNothing(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	w := newWorld(t)
	s := w.serve(false)
	w.post("users", fmt.Sprintf(`{"user": {"username": "mallory", "active": true}, "password": %q}`, password))
	admin := w.token
	w.token = w.login("mallory", password)
	for _, path := range []string{s.path(""), fmt.Sprintf("/proxy/%s:%d/", s.task, s.port), "/api/v1/tasks/" + s.task + "/port?port=1", "/api/v1/tasks/" + s.task + "/exec", "/api/v1/tasks/" + s.task + "/files?path=."} {
		if code, said, err := w.get(t.Context(), path, upgrade...); code != http.StatusForbidden && code != http.StatusNotFound || err != nil {
			t.Errorf("%s: got %d %s, %v", path, code, said, err)
		}
	}
	w.token = admin
	if code, _, err := w.get(t.Context(), s.path("")); code != http.StatusOK || err != nil {
		t.Errorf("got %d, %v for the owner", code, err)
	}
}

const password = "Brown-Bear-42"
