package cloud

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOpenMetadata(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"no firmware":       {nil, false},
		"a laptop":          {map[string]string{"sys_vendor": "LENOVO", "product_name": "21CB"}, false},
		"another cloud":     {map[string]string{"sys_vendor": "Amazon EC2", "product_name": "m7i.large"}, false},
		"by its vendor":     {map[string]string{"sys_vendor": "Alibaba Cloud", "product_name": "x"}, true},
		"by its product":    {map[string]string{"product_name": "Alibaba Cloud ECS"}, true},
		"vendor not spoken": {map[string]string{"sys_vendor": "", "product_name": ""}, false},
	} {
		dir := t.TempDir()
		for file, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := openMetadata(dir); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
