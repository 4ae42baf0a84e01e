import pytest
from experiments.runner.checkout import MOST_NAMED, Checkout
from experiments.runner.provenance import Origin


def write(checkout, name):
    path = checkout.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("changed\n")


def begun(checkout, tmp_path):
    return Origin.begin(tmp_path / "results", {}, checkout)


def test_what_is_committed_may_run(repository):
    repository.refuse_changes()
    assert len(repository.commit) == 12
    assert not repository.commit.endswith("+")


@pytest.mark.parametrize(
    "name", ["src/nearbayes/code.py", "README.md", "src/nearbayes/new.py", "experiments/a/b.py"]
)
def test_a_changed_tree_is_refused_and_the_file_is_named(repository, name):
    head = repository.commit
    write(repository, name)
    with pytest.raises(SystemExit, match=name) as refused:
        repository.refuse_changes()
    assert "commit or stash the changes, or measure anyway with --allow-changes" in str(refused)
    assert repository.commit == f"{head}+"


def test_staged_and_deleted_files_are_changes(repository, git):
    write(repository, "README.md")
    git("add", "README.md")
    (repository.root / "src/nearbayes/code.py").unlink()
    assert repository.changed_files() == ["README.md", "src/nearbayes/code.py"]


@pytest.mark.parametrize(
    "name",
    [
        "experiments/toy/results/report.md",
        "experiments/toy/results/records.jsonl",
        "src/nearbayes/__pycache__/code.pyc",
        "notes.txt",
    ],
)
def test_results_and_files_that_are_no_sources_may_change(repository, name):
    write(repository, name)
    assert repository.objection() == ""


def test_many_files_are_counted(repository):
    for number in range(MOST_NAMED + 3):
        write(repository, f"src/nearbayes/new_{number}.py")
    assert "new_4.py and 3 more changed" in repository.objection()


def test_a_package_from_elsewhere_is_refused(repository, tmp_path):
    elsewhere = Checkout(repository.root, tmp_path / "site-packages" / "nearbayes")
    with pytest.raises(SystemExit, match=r"site-packages.*set PYTHONPATH=.*repository/src"):
        elsewhere.refuse_changes()
    assert elsewhere.commit == f"{repository.commit}+"


def test_a_folder_without_git_is_refused_even_inside_another_repository(repository):
    unpacked = repository.root / "unpacked"
    unpacked.mkdir()
    checkout = Checkout(unpacked, unpacked / "src" / "nearbayes")
    with pytest.raises(SystemExit, match=r"unpacked is no git checkout .*run from a clone"):
        checkout.refuse_changes()
    assert checkout.commit == "unknown+"


def test_a_repository_without_a_commit_is_refused(tmp_path, git):
    with pytest.raises(SystemExit, match="no git checkout"):
        Checkout(tmp_path / "repository").refuse_changes()


def test_a_machine_without_git_is_told_so(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "git is not installed" in repository.objection()


def test_a_file_changed_during_the_run_marks_what_comes_after(repository, tmp_path):
    origin = begun(repository, tmp_path)
    assert origin.stamp()["commit"] == origin.commit
    write(repository, "src/nearbayes/code.py")
    assert origin.stamp()["commit"] == f"{origin.commit}+"


def test_code_committed_during_the_run_marks_what_comes_after(repository, tmp_path, git):
    origin = begun(repository, tmp_path)
    write(repository, "src/nearbayes/code.py")
    git("commit", "-am", "more code")
    assert origin.stamp()["commit"] == f"{origin.commit}+"


def test_results_may_be_committed_during_the_run(repository, tmp_path, git):
    origin = begun(repository, tmp_path)
    write(repository, "experiments/toy/results/report.md")
    git("commit", "-am", "results")
    assert repository.commit != origin.commit
    assert origin.stamp()["commit"] == origin.commit


def test_a_run_that_began_on_a_changed_tree_stays_marked(repository, tmp_path, git):
    write(repository, "README.md")
    origin = begun(repository, tmp_path)
    git("checkout", "README.md")
    assert origin.stamp()["commit"] == f"{repository.commit}+"
