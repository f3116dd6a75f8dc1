package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// events reads a stream of server-sent events and passes the data of each on. Only messages are of interest: an event
// of another type, a comment, an id and a time to retry are not. An event that the stream's end cuts off is dropped, as
// the format demands.
func events(stream io.Reader, pass func([]byte) error) error {
	lines := bufio.NewReader(stream)
	var data []byte
	kind := ""
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if kind == "" || kind == "message" {
				if err := pass(data); err != nil {
					return err
				}
			}
			data, kind = nil, ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			data = append(append(data, value...), '\n')
		case "event":
			kind = string(value)
		}
	}
}
