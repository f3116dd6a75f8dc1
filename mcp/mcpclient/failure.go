package mcpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/runnerhub/runnerhub/mcp"
)

// failure is one try that failed.
type failure struct {
	err    *mcp.Error
	unsent bool // the request surely did not reach the hub
}

type sentKey struct{}

// watchSent returns a context that remembers whether a request got a connection.
func watchSent(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := new(atomic.Bool)
	return context.WithValue(ctx, sentKey{}, sent), sent
}

func markSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// failed translates what a try ended with.
func (c *conn) failed(err error, sent *atomic.Bool) *failure {
	var known *mcp.Error
	if errors.As(err, &known) {
		return &failure{err: known}
	}
	var status *StatusError
	if errors.As(err, &status) {
		return &failure{err: c.fromStatus(status)}
	}
	return &failure{err: c.fromNetwork(plain(err)), unsent: !sent.Load()}
}

// plain removes the layers that repeat the URL, which may hold a capability.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// fromNetwork says in words for a person why there was no answer.
func (c *conn) fromNetwork(err error) *mcp.Error {
	e := &mcp.Error{Code: mcp.CodeUnavailable, Retryable: true}
	host := c.base.Host
	var (
		dns    *net.DNSError
		op     *net.OpError
		ca     x509.UnknownAuthorityError
		name   x509.HostnameError
		cert   x509.CertificateInvalidError
		record tls.RecordHeaderError
		verify *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errAnswerTooLarge):
		return &mcp.Error{Code: mcp.CodeTooLarge, Message: errAnswerTooLarge.Error(), Hint: "ask for less: a smaller limit, fewer lines"}
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = "the hub at " + host + " did not answer in time"
		e.Hint = "see whether it is up and whether a proxy between here and there holds requests back"
	case errors.As(err, &dns):
		e.Message = "the hub's host " + dns.Name + " cannot be found: " + dns.Err
		e.Hint = "check the address for a typing error, and this machine's network"
	case errors.As(err, &ca):
		e.Retryable = false
		e.Message = "the certificate of " + host + " was not issued by an authority that this machine trusts"
		e.Hint = "add the authority to the system's (or SSL_CERT_FILE); on a guest network sign in to it first"
	case errors.As(err, &name):
		e.Retryable = false
		e.Message = "the certificate of " + host + " is for another name: " + name.Error()
		e.Hint = "use the name that the certificate has; on a guest network sign in to it first"
	case errors.As(err, &cert):
		e.Retryable = false
		e.Message = "the certificate of " + host + " is not valid: " + cert.Error()
		e.Hint = "check this machine's date and the certificate's end"
	case errors.As(err, &verify):
		e.Retryable = false
		e.Message = "the certificate of " + host + " cannot be verified: " + verify.Err.Error()
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		e.Retryable = false
		e.Message = "the hub at " + host + " does not speak TLS on that port"
		e.Hint = "use http:// in the hub's address, or its TLS port"
	case errors.As(err, &op) && op.Op == "dial":
		e.Message = "cannot connect to the hub at " + host + ": " + op.Err.Error()
		e.Hint = "see whether the hub runs and the address and port are right"
	default:
		e.Message = "the connection to the hub at " + host + " failed: " + Redact(err.Error())
		e.Hint = "try again; see whether the hub was restarted"
	}
	return e
}
