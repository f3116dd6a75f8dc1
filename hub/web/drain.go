package web

import "net/http"

// closeWhenDraining asks clients to open their next connection elsewhere. Held
// calls are answered by whoever holds them.
func closeWhenDraining(drain <-chan struct{}, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isClosed(drain) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
