#!/usr/bin/env bash
# Prepares what the tests of deployments need, and runs a Docker engine until it is stopped:
#
#   engine.sh FOLDER prepare   makes the engine's file system and that of the stand-in for debian:bookworm-slim
#   engine.sh FOLDER run REPOSITORY   runs the engine, which sees both as /folder and /repository; FOLDER/pid names its process
#   engine.sh FOLDER remove    removes the engine's bridge and firewall rules
#
# Needs root, Debian and its packages. Nothing is installed but mmdebstrap: Docker is in a file system of its own.
set -euo pipefail
folder=$1
repository=${3:-}
tree=$folder/engine
bridge=sandwatch0
export DEBIAN_FRONTEND=noninteractive

prepare() {
  mkdir -p "$folder/data"
  if ! command -v mmdebstrap >/dev/null; then
    apt-get -qq update
    apt-get -qq install --yes --no-install-recommends mmdebstrap
  fi
  if [[ ! -e $tree ]]; then
    rm -rf "$tree.new"
    mmdebstrap --quiet --variant=minbase \
      --include=docker.io,docker-cli,docker-compose,docker-buildx,iptables,ca-certificates,procps,iproute2 \
      trixie "$tree.new"
    mv "$tree.new" "$tree"
  fi
  if [[ ! -e $folder/debian.tar ]]; then
    local path excluded=()
    for path in doc man locale; do excluded+=(--dpkgopt="path-exclude=/usr/share/$path/*"); done
    mmdebstrap --quiet --variant=minbase "${excluded[@]}" bookworm "$folder/debian-new.tar"
    mv "$folder/debian-new.tar" "$folder/debian.tar"
  fi
}

# In a root of its own by pivot_root: under a mere chroot, programs that Docker starts in a container would see this machine.
run() {
  chroot "$tree" iptables-save >"$folder/rules"
  cat /proc/sys/net/ipv4/ip_forward >"$folder/forwarding"
  chroot "$tree" ip link add "$bridge" type bridge
  chroot "$tree" ip address add 172.30.250.1/24 dev "$bridge"
  chroot "$tree" ip link set "$bridge" up
  cp /etc/resolv.conf "$tree/etc/resolv.conf"
  echo $$ >"$folder/pid"
  # shellcheck disable=SC2016
  exec unshare --mount --propagation private bash -euc '
    tree=$1 folder=$2 bridge=$3 repository=$4
    # Debian 12 mounts both versions of cgroups, and Docker would take the empty one.
    if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
    mount --bind "$tree" "$tree"
    for id in proc sys dev; do mount --rbind "/$id" "$tree/$id"; done
    mount -t tmpfs tmpfs "$tree/run"
    mkdir -p "$tree/var/lib/docker" "$tree/folder" "$tree/repository" "$tree/old"
    mount --bind "$folder/data" "$tree/var/lib/docker"
    mount --bind "$folder" "$tree/folder"
    mount --bind "$repository" "$tree/repository"
    cd "$tree"
    pivot_root . old
    umount -l /old
    exec dockerd --exec-opt native.cgroupdriver=cgroupfs --bridge "$bridge" \
      --default-address-pool base=172.30.240.0/21,size=24 --log-level warn
  ' bash "$tree" "$folder" "$bridge" "$repository"
}

remove() {
  local table
  for table in filter nat; do
    chroot "$tree" iptables --table "$table" --flush
    chroot "$tree" iptables --table "$table" --delete-chain
  done
  chroot "$tree" iptables --policy FORWARD ACCEPT
  chroot "$tree" iptables-restore <"$folder/rules"
  cat "$folder/forwarding" >/proc/sys/net/ipv4/ip_forward
  chroot "$tree" ip link delete "$bridge"
  rm -f "$folder/pid"
}

"$2"
