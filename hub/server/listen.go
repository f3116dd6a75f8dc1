package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// listen opens the hub's socket. Plain HTTP is refused on an address that other machines can
// reach, since tokens and logs would cross the network in the clear.
func listen(ctx context.Context, s Settings) (l net.Listener, scheme string, err error) {
	if s.TLSCert == "" && !s.InsecureHTTP {
		if err := onlyLoopback(ctx, s.Addr); err != nil {
			return nil, "", err
		}
	}
	var lc net.ListenConfig
	l, err = lc.Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, "", fmt.Errorf("listen on %s: %w (choose another --addr; port 0 picks a free one)", s.Addr, err)
	}
	if s.TLSCert == "" {
		return l, "http", nil
	}
	cert, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("load the TLS certificate: %w", err), l.Close())
	}
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	return tls.NewListener(l, conf), "https", nil
}

func onlyLoopback(ctx context.Context, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr %q is not host:port: %w", addr, err)
	}
	refuse := fmt.Errorf("refusing to serve plain HTTP on %s: other machines can reach it, and tokens and logs would cross the network "+
		"in the clear; give --tls-cert and --tls-key, or --insecure-http where a proxy in front does TLS", addr)
	if host == "" {
		return refuse
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return fmt.Errorf("look up --addr %s: %w", host, err)
	}
	for _, ip := range ips {
		if !ip.IP.IsLoopback() {
			return refuse
		}
	}
	return nil
}
