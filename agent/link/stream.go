package link

import (
	"context"
	"fmt"
	"net/http"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// DialStream opens the websocket of a stream that the master has ordered. The context bounds the time
// until it is open.
func (c *Conn) DialStream(ctx context.Context, id string) (*websocket.Conn, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.cfg.TLS}
	defer transport.CloseIdleConnections()
	header := http.Header{}
	if c.credential != "" {
		header.Set("Authorization", "Bearer "+c.credential)
	}
	//nolint:bodyclose // the library closes the body, or replaces it by one in memory
	ws, _, err := websocket.Dial(ctx, c.cfg.URL+agentv1.StreamsPath+id, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header,
	})
	if err != nil {
		return nil, fmt.Errorf("open a stream to the master: %w", err)
	}
	return ws, nil
}
