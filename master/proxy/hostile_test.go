package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// raw sends bytes to the master and returns the response.
func (w *world) raw(request string) (*http.Response, string) {
	w.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		w.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	return res, string(b)
}

func TestOtherPagesCannotUseTheTicketOfAVisitor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(echo))
	host, cookie := strings.TrimPrefix(w.server.URL, "http://"), "Cookie: det_ticket="+w.ticket("determined", "t1")
	for name, row := range map[string]struct {
		headers []string
		want    int
	}{
		"a program":                        {nil, 200},
		"a page of its own":                {[]string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"}, 200},
		"an address":                       {[]string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"}, 200},
		"a link of another page":           {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		"another service's page":           {[]string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"}, 403},
		"a picture in another page":        {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		"its page behind another proxy":    {[]string{"Sec-Fetch-Site: same-origin", "Origin: https://elsewhere"}, 200},
		"an older browser":                 {[]string{"Origin: http://" + host}, 200},
		"another service, older browser":   {[]string{"Origin: http://t2.example.com"}, 403},
		"no origin, older browser":         {[]string{"Origin: null"}, 403},
		"another service's websocket":      {[]string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: websocket", "Origin: http://t2.example.com", "Upgrade: websocket", "Connection: Upgrade"}, 403},
		"a token of another page's script": {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", bearer(w.login("determined"))}, 200},
	} {
		if res := w.get("/proxy/t1/", append(row.headers, cookie)...); res.StatusCode != row.want {
			t.Errorf("%s: got %d %s, want %d", name, res.StatusCode, body(t, res), row.want)
		}
	}
	form := "POST /proxy/t1/ HTTP/1.1\nHost: " + host + "\nOrigin: http://t2.example.com\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: navigate\nContent-Length: 0\n" + cookie + "\nConnection: close\n\n"
	if res, said := w.raw(form); res.StatusCode != http.StatusForbidden {
		t.Errorf("got %d %s for a form of another page, want 403", res.StatusCode, said)
	}
}

func TestInformationalResponsesDoNotPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Set-Cookie", "auth=planted; Path=/")
		rw.WriteHeader(http.StatusEarlyHints)
		rw.Header().Del("Set-Cookie")
		_, _ = io.WriteString(rw, "final")
	}))
	res, said := w.raw("GET /proxy/t1/ HTTP/1.1\nHost: det\n" + bearer(w.login("determined")) + "\nConnection: close\n\n")
	if res.StatusCode != 200 || said != "final" || len(res.Header["Set-Cookie"]) > 0 {
		t.Errorf("got %d %q %v, want the final response alone", res.StatusCode, said, res.Header)
	}
}

func TestHeadersOfServicesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for range map[bool]int{true: 2000, false: 20}[r.URL.RawQuery == "many"] {
			rw.Header().Add("X-Filler", strings.Repeat("x", 1000))
		}
	}))
	token := w.login("determined")
	if res := w.get("/proxy/t1/?many", bearer(token)); res.StatusCode != http.StatusBadGateway {
		t.Errorf("got %d for 2 MB of headers, want 502", res.StatusCode)
	}
	if res := w.get("/proxy/t1/", bearer(token)); res.StatusCode != http.StatusOK {
		t.Errorf("got %d for 20 KB of headers, want 200", res.StatusCode)
	}
}

func TestHeadersThatServicesConfuseAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(echo))
	res, got := w.raw("GET /proxy/t1/ HTTP/1.1\nHost: det\n" + bearer(w.login("determined")) + "\nX-Forwarded-For: 192.0.2.9\nX-Real-IP: 192.0.2.9\nForwarded: for=192.0.2.9\n" +
		"X_Real_IP: 192.0.2.9\nX_Forwarded_For: 192.0.2.9\nX-Kept: 1\nConnection: close, X-Real-Ip, X-Forwarded-For\n\n")
	if res.StatusCode != 200 || strings.Contains(got, "192.0.2.9") || !strings.Contains(got, "X-Kept: 1") || !strings.Contains(got, "X-Real-Ip: 127.0.0.1") {
		t.Errorf("got %d %s", res.StatusCode, got)
	}
}
