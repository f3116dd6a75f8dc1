package docker

import (
	"context"
	"io"

	"github.com/docker/docker/api/types/container"
)

// CopyTo has the engine unpack a tar stream in a container. Only ctx bounds it: a
// large tree takes its time.
func (e *Engine) CopyTo(ctx context.Context, name, dir string, tar io.Reader) error {
	err := e.client.CopyToContainer(ctx, name, dir, tar, container.CopyToContainerOptions{})
	return wrap("copy files to "+dir+" of container "+name, contextual(ctx, err))
}

// CopyFrom has the engine pack a file or folder of a container.
func (e *Engine) CopyFrom(ctx context.Context, name, path string) (io.ReadCloser, error) {
	stream, _, err := e.client.CopyFromContainer(ctx, name, path)
	if err != nil {
		return nil, wrap("copy "+path+" from container "+name, contextual(ctx, err))
	}
	return stream, nil
}
